"""Multi-label data sets from files and by name, and raw tables."""

from simlabel._utils.rows import open_rows
from simlabel.datasets._catalog import OPENML, OpenMLSet, data_folder, listed_sets, river_file
from simlabel.datasets._csv import CsvRecords, check_delimiter
from simlabel.datasets._dataset import DEVELOPMENT, TEST, TRAIN, Dataset, NumberedNames
from simlabel.datasets._errors import DatasetError, check_regular
from simlabel.datasets._excel import Sheet
from simlabel.datasets._format import FORMATS, FeatureChunks, Format, detect_format, find_format
from simlabel.datasets._load import list_datasets, load_dataset
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
    "check_delimiter",
    "check_regular",
    "CsvRecords",
    "data_folder",
    "DEVELOPMENT",
    "listed_sets",
    "OPENML",
    "OpenMLSet",
    "river_file",
    "Sheet",
]
