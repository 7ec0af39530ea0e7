"""Multi-label data sets: from files in the formats that people have, and by name."""

from simlabel._utils.rows import open_rows
from simlabel.datasets._chunks import FeatureChunks
from simlabel.datasets._dataset import TEST, TRAIN, Dataset, Numbered
from simlabel.datasets._errors import DatasetError
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
    "open_rows",
    "load_dataset",
    "list_datasets",
    "Dataset",
    "TRAIN",
    "TEST",
    "DatasetError",
    "FeatureChunks",
    "FORMATS",
    "detect_format",
    "find_format",
    "Numbered",
    "Format",
    "read_table",
    "table_chunks",
    "table_pieces",
    "TableFile",
    "TableChunks",
    "TABLE_FORMATS",
]
