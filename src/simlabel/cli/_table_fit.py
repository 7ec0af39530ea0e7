"""`simlabel fit` on a raw table: texts, categories, lists, numbers and dates, into a Tagger."""

from __future__ import annotations

import time
import warnings
import zipfile
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from simlabel import Tagger
from simlabel.cli._console import say
from simlabel.cli._options import Reading
from simlabel.cli._rows import label_cells, tell_notes, tell_problems
from simlabel.cli._table_options import check_columns
from simlabel.datasets import TABLE_FORMATS, DatasetError, TableFile, read_table
from simlabel.datasets._formats import detect_format
from simlabel.support.progress import heard_by, shown_progress
from simlabel.tables import LEFT_OUT, Column, detect_columns, table_cells

_LEFT_OUT = "left out as untagged. If it means that no label applies, add --empty-means-none."


@dataclass(frozen=True)
class TableFit:
    """What the user says about a table and the model for it.

    Attributes
    ----------
    kinds : dict of column to kind
    id_column, title_column, group_column : str or None
    label_rule, hierarchy : str or None
    jobs : int or None
    seed : int
    empty : str
        What an empty label cell means, as in `Tagger`.
    """

    kinds: Mapping[str, str]
    id_column: str | None
    title_column: str | None
    group_column: str | None
    label_rule: str | None
    hierarchy: str | None
    jobs: int | None
    seed: int
    empty: str

    def fit(self, source: Path, reading: Reading, output: Path, console: Console) -> dict[str, Any]:
        """Fit a `Tagger`, save it, and give the facts; what was found out goes to the console."""
        frame = opened(source, reading).frame
        assert reading.label_column is not None
        check_columns(frame, {"label_column": reading.label_column}, source)
        labels = label_cells(frame.pop(reading.label_column))
        if labels and not any(labels):
            raise ValueError(f"{source}: no row has a label in column {reading.label_column!r}.")
        empty = sum(not cell for cell in labels)
        if empty:
            say(
                f"{empty:,} row{'s' * (empty != 1)} with an empty cell in {reading.label_column!r}: "
                + ("learned as having no label." if self.empty == "none" else _LEFT_OUT)
            )
        kinds = self._kinds(frame, source)
        show_columns(console, detect_columns(table_cells(frame), kinds))
        groups = {} if self.group_column is None else {"groups": frame[self.group_column].tolist()}
        rule: dict[str, Any] = {} if self.label_rule is None else {"label_rule": self.label_rule}
        tagger = Tagger(
            kinds or None,
            label_separator="auto" if reading.separator is None else reading.separator,
            id_column=self.id_column,
            title_column=self.title_column or "auto",
            hierarchy=self.hierarchy,
            n_jobs=self.jobs,
            random_state=self.seed,
            empty=self.empty,
            **rule,
        )
        started = time.perf_counter()
        with shown_progress("fitting") as bar, heard_by(bar):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=".*empty label cell")  # has been said
                tagger.fit(frame, labels, **groups)
            tagger.label_column_ = reading.label_column
            tagger.save(output)
        facts = _facts(tagger, output, round(time.perf_counter() - started, 3))
        _show(console, facts)
        if self.id_column is None:
            _tell_ids(console, facts["columns"])
        return facts

    def _kinds(self, columns: Iterable[Hashable], source: Path) -> dict[str, str]:
        """Kinds by column, with what is said by being the column of ids or groups."""
        for name, kind in self.kinds.items():
            check_columns(columns, {kind: name}, source)
        own = {name: getattr(self, name) for name in ("id_column", "title_column", "group_column")}
        check_columns(columns, own, source)
        kinds = dict(self.kinds)
        if self.group_column is not None:
            kinds.setdefault(self.group_column, "ignore")
        return kinds


def opened(path: Path, reading: Reading) -> TableFile:
    """A raw table, read whole; what was found out about the file is said."""
    table = read_table(path, **reading.table)
    tell_notes(table)
    tell_problems(table)
    return table


def is_table(source: str, format: str | None) -> bool:
    """Whether a source is a file that `read_table` reads: no name of a set, and no matrix with its labels."""
    path = Path(source)
    if not path.is_file():
        return False
    if format is not None:
        return format in TABLE_FORMATS
    try:
        found = detect_format(path).name
    except DatasetError:
        return True  # text in an encoding that only tables may have; or what is wrong is said when it is read
    return found in TABLE_FORMATS or (found == "npz" and _is_workbook(path))


def _is_workbook(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return "[Content_Types].xml" in archive.namelist()
    except (zipfile.BadZipFile, OSError):
        return False


def show_columns(console: Console, columns: list[Column]) -> None:
    """What each column is taken for, and why."""
    table = Table("Column", "Kind", "Why", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in columns:
        table.add_row(column.name, column.kind, column.reason)
    console.print(table)


def _facts(tagger: Tagger, output: Path, seconds: float) -> dict[str, Any]:
    about = tagger.describe()
    return {
        "model": str(output),
        "rows": tagger.n_references_,
        "columns": about.tables[0][1].to_dict("records"),
        "similarity": dict(about.facts)["similarity"],
        "labels": len(tagger.classes_),
        "separator": tagger.label_separator_,
        "penalty": tagger.influence_.penalty,
        "label_rule": repr(tagger.label_rule_),
        "seconds": seconds,
        "bytes": output.stat().st_size,
    }


def _show(console: Console, facts: Mapping[str, Any]) -> None:
    separator = facts["separator"]
    between = "one in each cell" if separator is None else f"separated by {separator!r}"
    console.print(
        f"Fitted on {facts['rows']:,} rows, with {facts['labels']:,} labels, {between}.", soft_wrap=True
    )
    weights = [
        f"{one['column']} {one['weight']:g}" for one in facts["columns"] if one["kind"] not in LEFT_OUT
    ]
    console.print(f"How much columns count, by leave-one-out: {', '.join(weights)}.", soft_wrap=True)
    console.print(f"Rows are compared by {facts['similarity']}.", soft_wrap=True)


def _tell_ids(console: Console, columns: Sequence[Mapping[str, Any]]) -> None:
    """Say how rows could be called, where there is a column that looks like it."""
    ids = [one["column"] for one in columns if one["kind"] == "id"]
    if ids:
        console.print(
            f"Rows are called by their numbers; by {ids[0]!r} with --id {ids[0]!r}.", soft_wrap=True
        )
