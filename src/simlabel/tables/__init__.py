"""Tables as people have them: what a column holds, and rows of cells as rows of numbers."""

from simlabel.tables._advice import advise_on_categories
from simlabel.tables._cells import Cell, Cells, Row, table_cells
from simlabel.tables._columns import NumberColumn, TermColumn
from simlabel.tables._description import title_column
from simlabel.tables._embedding import EmbeddedColumn, Embedding
from simlabel.tables._encoder import ENCODERS, NUMBERS, TableEncoder, TableWarning
from simlabel.tables._kinds import KINDS, LEFT_OUT, Column, detect_columns
from simlabel.tables._labels import label_sets, leaking_columns, separator_for, tagged_rows
from simlabel.tables._separators import guess_separator, list_form
from simlabel.tables._terms import LISTS, join, split
from simlabel.tables._values import yes_or_no
from simlabel.tables._vocabulary import Vocabulary

__all__ = [
    "advise_on_categories",
    "TableEncoder",
    "Embedding",
    "TableWarning",
    "Column",
    "detect_columns",
    "guess_separator",
    "list_form",
    "KINDS",
    "LEFT_OUT",
    "NUMBERS",
    "ENCODERS",
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
    "yes_or_no",
]
