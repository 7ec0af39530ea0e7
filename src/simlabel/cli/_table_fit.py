"""`simlabel fit` on a raw table: texts, categories, lists, numbers and dates, into a Tagger."""

from __future__ import annotations

import time
import warnings
import zipfile
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table

from simlabel import Tagger
from simlabel._utils.progress import heard_by, shown_progress
from simlabel._utils.text import some_names
from simlabel.cli._console import note, say
from simlabel.cli._label_cells import LabelCell, LabelSource
from simlabel.cli._options import Reading
from simlabel.cli._rows import check_ids, check_rows, tell_notes, tell_problems
from simlabel.cli._table_options import check_columns
from simlabel.datasets import TABLE_FORMATS, DatasetError, TableFile, detect_format, read_table, table_chunks
from simlabel.labels import Partial
from simlabel.tables import LEFT_OUT, Column, detect_columns, table_cells

_HEAD = 500  # rows that show whether a table is a matrix of features
_MATRIX_KINDS = ("number", "yes/no", "constant", "id")
_NAMED, _SHORT = 10, 40  # labels that are printed, and characters of an odd one
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
        table = opened(source, reading)
        frame = table.frame
        check_rows(len(frame), source)
        where = LabelSource.of(source, [*map(str, frame)], reading, empty=self.empty)
        labels = where.pop(frame, table.lines)
        _check_tagged(labels, where)
        _tell_empty(labels, where, self.empty)
        kinds = self._kinds(frame, source)
        if self.id_column is not None:
            check_ids(
                table_cells({"": frame[self.id_column]}).column(""), table.lines, self.id_column, source
            )
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
            if where.column is not None:
                tagger.label_column_ = where.column
            tagger.save(output)
        facts = _facts(tagger, output, round(time.perf_counter() - started, 3))
        _show(console, facts, where)
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


def _check_tagged(labels: Sequence[LabelCell], where: LabelSource) -> None:
    if not any(cell.present if isinstance(cell, Partial) else cell for cell in labels):
        named = some_names([repr(name) for name in where.columns])
        raise ValueError(f"{where.path}: no row has a label in column{'s' * bool(where.several)} {named}.")


def _tell_empty(labels: Sequence[LabelCell], where: LabelSource, empty: str) -> None:
    """Say how many label cells are empty, and what that means."""
    gone = sum(cell is None for cell in labels)
    if gone:
        named = f"an empty cell in {where.column!r}" if where.column else "only empty label cells"
        learned = empty == "none" and where.column is not None
        say(
            f"{gone:,} row{'s' * (gone != 1)} with {named}: "
            + ("learned as having no label." if learned else _LEFT_OUT)
        )
    partly = sum(isinstance(cell, Partial) for cell in labels)
    if partly:
        say(
            f"{partly:,} row{'s' * (partly != 1)} with some empty label cells: these labels are unknown "
            f"there. If empty means that the label does not apply, add --empty-means-none."
        )


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


def needs_tagger(path: Path, reading: Reading) -> bool:
    """Whether a table with label columns of 0 and 1 is no matrix: it has texts, or empty cells."""
    try:
        head = next(table_chunks(path, _HEAD, **reading.table))
        several = LabelSource.of(path, [*map(str, head)], reading).several
    except DatasetError:
        return False  # the reader of matrices says what is wrong
    columns = detect_columns(table_cells(head.drop(columns=list(several))))
    return bool(head.isna().any(axis=None)) or not all(each.kind in _MATRIX_KINDS for each in columns)


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
    found = dict(about.tables)
    return {
        "model": str(output),
        "rows": tagger.n_references_,
        "columns": found["Columns"].to_dict("records"),
        "similarity": dict(about.facts)["similarity"],
        "labels": len(tagger.classes_),
        **label_facts(found["Labels"]),
        "separator": tagger.label_separator_,
        "penalty": tagger.influence_.penalty,
        "label_rule": repr(tagger.label_rule_),
        "seconds": seconds,
        "bytes": output.stat().st_size,
    }


def _show(console: Console, facts: Mapping[str, Any], where: LabelSource) -> None:
    separator = facts["separator"]
    between = "one in each cell" if separator is None else f"separated by {separator!r}"
    between = "each in a column of its own" if where.several else between
    console.print(
        f"Fitted on {facts['rows']:,} rows, with {facts['labels']:,} labels, {between}.", soft_wrap=True
    )
    show_labels(console, facts)
    weights = [
        f"{one['column']} {one['weight']:g}" for one in facts["columns"] if one["kind"] not in LEFT_OUT
    ]
    console.print(f"How much columns count, by leave-one-out: {', '.join(weights)}.", soft_wrap=True)
    console.print(f"Rows are compared by {facts['similarity']}.", soft_wrap=True)


def label_facts(labels: pd.DataFrame) -> dict[str, Any]:
    """The most frequent labels with their rows, and the names that look wrong, with the reason."""
    odd = labels[labels["looks wrong"] != ""]
    return {
        "most_frequent": dict(labels[["label", "rows"]].head(_NAMED).itertuples(index=False, name=None)),
        "names_that_look_wrong": dict(odd[["label", "looks wrong"]].itertuples(index=False, name=None)),
    }


def show_labels(console: Console, facts: Mapping[str, Any]) -> None:
    """Print the most frequent labels, and warn of names that look wrong."""
    named = [f"{name} ({count:,})" for name, count in facts["most_frequent"].items()]
    others = facts["labels"] - len(named)
    more = f" and {others:,} other{'s' * (others != 1)}" if others else ""
    console.print(f"Labels, with their rows: {', '.join(named)}{more}.", soft_wrap=True)
    odd = facts["names_that_look_wrong"]
    if odd:
        listed = [f"{name[:_SHORT]!r} ({why})" for name, why in [*odd.items()][:_NAMED]]
        more = f" and {len(odd) - _NAMED:,} more" if len(odd) > _NAMED else ""
        note(
            f"{len(odd):,} label name{'s look' if len(odd) != 1 else ' looks'} wrong: {', '.join(listed)}"
            f"{more}. Check that the column holds labels, and what separates them (--separator)."
        )


def _tell_ids(console: Console, columns: Sequence[Mapping[str, Any]]) -> None:
    """Say how rows could be called, where there is a column that looks like it."""
    ids = [one["column"] for one in columns if one["kind"] == "id"]
    if ids:
        console.print(
            f"Rows are called by their numbers; by {ids[0]!r} with --id {ids[0]!r}.", soft_wrap=True
        )
