"""Raw tables from files, and to files: texts, categories, numbers as text and empty cells, as they stand."""

from simlabel.datasets.tables._formats import TABLE_FORMATS, TableFormat
from simlabel.datasets.tables._reading import TableProblem
from simlabel.datasets.tables._table import TableChunks, TableFile, read_table, table_chunks
from simlabel.datasets.tables._writing import CsvRecords, Sheet, table_pieces

__all__ = [
    "read_table",
    "table_chunks",
    "table_pieces",
    "CsvRecords",
    "Sheet",
    "TableFile",
    "TableChunks",
    "TableProblem",
    "TABLE_FORMATS",
    "TableFormat",
]
