"""Multi-label data sets from files and by name, and raw tables."""

from simlabel._utils.rows import open_rows
from simlabel.datasets._dataset import TEST, TRAIN, Dataset, NumberedNames
from simlabel.datasets._errors import DatasetError
from simlabel.datasets._format import FORMATS, FeatureChunks, Format, detect_format, find_format
from simlabel.datasets._load import (
    OPENML,
    OpenMLSet,
    data_folder,
    list_datasets,
    listed_sets,
    load_dataset,
    river_file,
)
from simlabel.datasets._reading import TableChunks
from simlabel.datasets._table import TABLE_FORMATS, TableFile, read_table, table_chunks, table_pieces

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
    "NumberedNames",
    "Format",
    "read_table",
    "table_chunks",
    "table_pieces",
    "TableFile",
    "TableChunks",
    "TABLE_FORMATS",
    "data_folder",
    "listed_sets",
    "OPENML",
    "OpenMLSet",
    "river_file",
]
