"""Multi-label data sets: from files in the formats that people have, and by name."""

from simlabel.datasets._chunks import FeatureChunks
from simlabel.datasets._csv import check_delimiter
from simlabel.datasets._dataset import TEST, TRAIN, Dataset, Numbered
from simlabel.datasets._errors import DatasetError, check_regular
from simlabel.datasets._format import Format
from simlabel.datasets._formats import FORMATS, detect_format, find_format
from simlabel.datasets._load import list_datasets, load_dataset
from simlabel.datasets.tables import (
    TABLE_FORMATS,
    TableChunks,
    TableFile,
    read_table,
    table_chunks,
    table_pieces,
)

__all__ = [
    "load_dataset",
    "list_datasets",
    "Dataset",
    "DatasetError",
    "FeatureChunks",
    "FORMATS",
    "Format",
    "read_table",
    "table_chunks",
    "table_pieces",
    "TableFile",
    "TableChunks",
    "TABLE_FORMATS",
    "check_delimiter",
    "Numbered",
    "TEST",
    "TRAIN",
    "check_regular",
    "detect_format",
    "find_format",
]
