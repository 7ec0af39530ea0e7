"""The labels of a raw table: one column that lists them, or a column of 0 and 1 for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import typer

from simlabel.cli._options import Reading
from simlabel.cli._table_options import check_columns
from simlabel.datasets import DatasetError
from simlabel.labels import Partial
from simlabel.tables import LISTS, Cell, table_cells
from simlabel.tables import yes_or_no as truth_of

LabelCell = Cell | set[str] | Partial


@dataclass(frozen=True)
class LabelSource:
    """Where the labels of a table are.

    Attributes
    ----------
    path : Path
    column : str or None
        The column that lists the labels of each row.
    several : list of str
        Columns of 0 and 1, whose names are the labels.
    is_partial : bool
        Whether the table has no column for some labels of the model: these are unknown.
    empty_is_zero : bool
        Whether an empty cell means that the label does not apply; else it is unknown.
    """

    path: Path
    column: str | None = None
    several: Sequence[str] = ()
    is_partial: bool = False
    empty_is_zero: bool = False

    @classmethod
    def of(
        cls, path: Path, columns: Sequence[str], reading: Reading, known: Sequence[str] = (), empty: str = ""
    ) -> LabelSource:
        """Find the label columns that the options name, else those called as the labels that are known."""
        if reading.label_column is not None:
            check_columns(columns, {"label_column": reading.label_column}, path)
            return cls(path, reading.label_column)
        if reading.labels is not None:
            several = [name.strip() for name in reading.labels.split(",")]
            for name in several:
                check_columns(columns, {"labels": name}, path)
        elif reading.label_prefix is not None:
            several = [name for name in columns if name.startswith(reading.label_prefix)]
            if not several:
                raise typer.BadParameter(
                    f"--label-prefix: {path} has no column that begins with {reading.label_prefix!r}; it has "
                    f"{', '.join(map(repr, columns))}."
                )
        else:
            several = [name for name in known if name in columns]
        is_partial = not set(known) <= set(several)
        return cls(path, None, several, is_partial, empty == "none")

    @property
    def columns(self) -> list[str]:
        """All label columns."""
        return list(self.several) if self.column is None else [self.column]

    def pop(self, frame: pd.DataFrame, lines: Sequence[int]) -> list[LabelCell]:
        """Take the labels of each row out of a frame; None where a row is untagged."""
        if self.column is not None:
            return [*label_cells(frame.pop(self.column))]
        columns = [self._truths(name, frame.pop(name), lines) for name in self.several]
        return [self._row(cells) for cells in zip(*columns, strict=True)]

    def _truths(self, name: str, column: pd.Series, lines: Sequence[int]) -> list[bool | None]:
        found: list[bool | None] = []
        for cell, line in zip(table_cells({name: column}).column(name), lines, strict=True):
            truth = False if cell is None and self.empty_is_zero else truth_of(cell)
            if truth is None and cell is not None:
                what = f"expected 0 or 1 in the label column {name!r}, or an empty cell if it is unknown"
                raise DatasetError(f"{what}; found {str(cell)[:40]!r}", self.path, line)
            found.append(truth)
        return found

    def _row(self, cells: Sequence[bool | None]) -> LabelCell:
        present = {name for name, cell in zip(self.several, cells, strict=True) if cell}
        absent = {name for name, cell in zip(self.several, cells, strict=True) if cell is False}
        if not present and not absent:
            return None
        is_known = len(present) + len(absent) == len(cells) and not self.is_partial
        return present if is_known else Partial(present, absent)


def label_cells(column: pd.Series) -> list[Cell]:
    """Cells that hold labels: texts, lists of texts, None; a number is a label's name."""
    cells = table_cells({"labels": column}).column("labels")
    return [str(cell) if isinstance(cell, int | float) else cell for cell in cells]


def how_separated(separator: str | None) -> str:
    """Say how the cells of a column list labels."""
    if separator is None:
        return "one in each cell"
    return {LISTS: "as lists", "#": "as hashtags"}.get(separator, f"separated by {separator!r}")
