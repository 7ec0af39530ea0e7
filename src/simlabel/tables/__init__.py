"""Raw tables: cells, detection of column kinds, label cells, and the encoder of rows as features."""

from simlabel.tables._cells import Cell, Cells, Row, parse_bool, table_cells
from simlabel.tables._column_encoders import EmbeddedColumn, Embedding, NumberColumn, TermColumn
from simlabel.tables._detection import EXCLUDED_KINDS, KINDS, Column, detect_columns, title_column
from simlabel.tables._encoder import ENCODERS, NUMBERS, TableEncoder, TableWarning, warn_about_categories
from simlabel.tables._labels import label_sets, leaking_columns, separator_for, tagged_rows
from simlabel.tables._lists import LISTS, guess_separator, join, list_form, split
from simlabel.tables._text import ANALYZES, Vocabulary

__all__ = [
    "warn_about_categories",
    "TableEncoder",
    "Embedding",
    "TableWarning",
    "Column",
    "detect_columns",
    "guess_separator",
    "list_form",
    "KINDS",
    "EXCLUDED_KINDS",
    "NUMBERS",
    "ENCODERS",
    "ANALYZES",
    "Cell",
    "Cells",
    "Row",
    "table_cells",
    "split",
    "join",
    "LISTS",
    "label_sets",
    "leaking_columns",
    "separator_for",
    "tagged_rows",
    "title_column",
    "TermColumn",
    "NumberColumn",
    "EmbeddedColumn",
    "Vocabulary",
    "parse_bool",
]
