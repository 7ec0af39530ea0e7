"""What the command `fit` does: fit a model on a raw table or on a feature matrix, save and describe it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import joblib
import typer

from simlabel import SMLClassifier, Tagger
from simlabel._utils.progress import progress_bar, report_progress_to
from simlabel._utils.text import format_names
from simlabel.cli._console import Terminal, count, note, say, show_table
from simlabel.cli._models import extract_label_sets, named_columns
from simlabel.cli._options import ColumnOptions, Reading, check_named_columns
from simlabel.cli._rows import (
    LabelCell,
    LabelSource,
    check_has_rows,
    check_unique_ids,
    column_cells,
    how_separated,
    is_table,
    open_table,
)
from simlabel.datasets import DatasetError, TableFile, table_chunks
from simlabel.experiments import find_algorithm
from simlabel.labels import PartialLabels, warn_about_labels
from simlabel.tables import EXCLUDED_KINDS, Column, detect_columns, table_cells

_HEAD = 500  # rows that decide whether a table is a feature matrix
_MATRIX_KINDS = ("number", "yes/no", "constant", "id")
_MOST_LABELS, _MOST_CHARACTERS = 10, 40  # labels that are listed, and characters of a suspicious one


def is_raw_table(source: str, reading: Reading, columns: ColumnOptions) -> bool:
    """Whether a labeled file is to be read as a raw table, and not as a feature matrix."""
    several = reading.labels is not None or reading.label_prefix is not None
    if (reading.label_column is not None) == several or not is_table(source, reading.format):
        return False
    return not several or bool(columns.given) or _has_texts_or_gaps(Path(source), reading)


def _has_texts_or_gaps(path: Path, reading: Reading) -> bool:
    try:
        head = next(table_chunks(path, _HEAD, **reading.table))
        several = LabelSource.find(path, [*map(str, head)], reading).several
    except DatasetError:
        return False  # the reader of matrices reports the error
    columns = detect_columns(table_cells(head.drop(columns=list(several))))
    return bool(head.isna().any(axis=None)) or not all(each.kind in _MATRIX_KINDS for each in columns)


def fit_table(
    source: Path,
    columns: ColumnOptions,
    reading: Reading,
    output: Path,
    quiet: bool,
    rules: Mapping[str, Any],
    jobs: int | None,
    seed: int,
) -> dict[str, Any]:
    """Fit a `Tagger` on a raw table, save it, and return its description."""
    empty = "none" if columns.empty_means_none else "untagged"
    kinds = columns.kinds()
    table = open_table(source, reading)
    frame = table.frame
    check_has_rows(len(frame), source)
    where = LabelSource.find(source, [*map(str, frame)], reading, empty=empty)
    labels = where.pop(frame, table.lines)
    _check_tagged(labels, where)
    _report_empty(labels, where, empty)
    _check_named_columns(table, columns, kinds)
    groups: dict[str, Any] = {}
    if columns.group_column is not None:
        kinds.setdefault(columns.group_column, "ignore")
        groups["groups"] = frame[columns.group_column].tolist()
    if not quiet:
        show_columns(detect_columns(table_cells(frame), kinds))
    tagger = Tagger(
        kinds or None,
        label_separator="auto" if reading.separator is None else reading.separator,
        id_column=columns.id_column,
        title_column=columns.title_column or "auto",
        n_jobs=jobs,
        random_state=seed,
        empty=empty,
        **rules,
    )
    started = time.perf_counter()
    with progress_bar("fitting") as bar, report_progress_to(bar):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*empty label cell")  # reported above
            tagger.fit(frame, labels, **groups)
        if where.column is not None:
            tagger.label_column_ = where.column
        tagger.save(output)
    facts = {
        **_facts(tagger, output, started),
        "columns": dict(tagger.describe().tables)["Columns"].to_dict("records"),
        "similarity": dict(tagger.describe().facts)["similarity"],
        "separator": tagger.label_separator_,
        "penalty": tagger.influence_.penalty,
        "label_rule": repr(tagger.label_rule_),
    }
    if not quiet:
        _show_table_facts(facts, where, columns.id_column)
    return facts


def _check_named_columns(table: TableFile, columns: ColumnOptions, kinds: Mapping[str, str]) -> None:
    """Check that the table has the columns that options name, and that ids are distinct."""
    frame, path = table.frame, table.path
    check_named_columns(frame, {f"--{kind}": name for name, kind in kinds.items()}, path)
    check_named_columns(frame, columns.by_option, path)
    if columns.id_column is not None:
        check_unique_ids(column_cells(frame[columns.id_column]), table.lines, columns.id_column, path)


def _check_tagged(labels: Sequence[LabelCell], where: LabelSource) -> None:
    if not any(cell.present if isinstance(cell, PartialLabels) else cell for cell in labels):
        named = format_names([repr(name) for name in where.columns])
        raise ValueError(f"{where.path}: no row has a label in column{'s' * bool(where.several)} {named}.")


def _report_empty(labels: Sequence[LabelCell], where: LabelSource, empty: str) -> None:
    """Print the number of empty label cells, and how they are interpreted."""
    untagged = sum(cell is None for cell in labels)
    if untagged:
        named = f"an empty cell in {where.column!r}" if where.column else "only empty label cells"
        meaning = "left out as untagged. If it means that no label applies, add --empty-means-none."
        if empty == "none" and where.column is not None:
            meaning = "learned as having no label."
        say(f"{count(untagged, 'row')} with {named}: {meaning}")
    partly = sum(isinstance(cell, PartialLabels) for cell in labels)
    if partly:
        say(
            f"{count(partly, 'row')} with some empty label cells: these labels are unknown there. "
            f"If an empty cell means that the label does not apply, add --empty-means-none."
        )


def show_columns(columns: Sequence[Column]) -> None:
    """Print the type of each column, with the reason."""
    rows = [(column.name, column.kind, column.reason) for column in columns]
    show_table(["Column", "Kind", "Why"], rows, numbers=False)


def _show_table_facts(facts: Mapping[str, Any], where: LabelSource, id_column: str | None) -> None:
    separator = facts["separator"]
    between = "each in its own column" if where.several else how_separated(separator)
    _print(f"Fitted on {facts['rows']:,} rows with {facts['labels']:,} labels, {between}.")
    _show_labels(facts)
    used = [one for one in facts["columns"] if one["kind"] not in EXCLUDED_KINDS]
    weights = ", ".join(f"{one['column']} {one['weight']:g}" for one in used)
    _print(f"Column weights, by leave-one-out: {weights}.")
    _print(f"Similarity of rows: {facts['similarity']}.")
    ids = [one["column"] for one in facts["columns"] if one["kind"] == "id"]
    if id_column is None and ids:
        _print(f"The ids of rows are their numbers; to use column {ids[0]!r}, add --id {ids[0]!r}.")


def fit_matrix(
    source: str,
    auto: bool,
    stages: dict[str, Any],
    reading: Reading,
    output: Path,
    quiet: bool,
    jobs: int | None,
    seed: int,
) -> dict[str, Any]:
    """Fit an `SMLClassifier`, or with `auto` an `AutoSMLClassifier`, save it, and return its description."""
    if auto and stages:
        named = ", ".join(f"--{name.replace('_', '-')}" for name in stages)
        raise typer.BadParameter(f"--auto selects the stages: omit {named}.")
    if auto:
        estimator = find_algorithm("autosml", seed=seed, n_jobs=jobs or joblib.cpu_count()).estimator
    else:
        if stages.get("normalizer") == "none":
            stages["normalizer"] = None
        estimator = SMLClassifier(**stages, n_jobs=jobs, random_state=seed)
    data = reading.load(source)
    warn_about_labels(data.label_names, data.Y)  # label sets lack the labels that no row has
    started = time.perf_counter()
    with Terminal(stderr=True).status(f"fitting on {data.n_rows:,} rows"):
        estimator.fit(named_columns(data), extract_label_sets(data))
        if reading.label_column is not None:
            estimator.label_column_ = reading.label_column
        estimator.save(output)
    facts = _facts(estimator, output, started) | {"features": data.n_attributes}
    if not quiet:
        _print(f"Fitted on {data!r}")
        _show_labels(facts)
        _print(f"Similarity: {facts['similarity']}")
    return facts


def _facts(estimator: Any, output: Path, started: float) -> dict[str, Any]:
    """Describe a model: its size, its most frequent labels, and suspicious label names with the reason."""
    labels = dict(estimator.describe().tables)["Labels"]
    frequent = labels[["label", "rows"]].head(_MOST_LABELS)
    odd = labels.loc[labels["looks wrong"] != "", ["label", "looks wrong"]]
    return {
        "model": str(output),
        "rows": estimator.n_references_,
        "labels": len(estimator.classes_),
        "most_frequent": dict(frequent.itertuples(index=False, name=None)),
        "names_that_look_wrong": dict(odd.itertuples(index=False, name=None)),
        "similarity": repr(estimator.similarity_),
        "seconds": round(time.perf_counter() - started, 3),
        "bytes": output.stat().st_size,
    }


def _show_labels(facts: Mapping[str, Any]) -> None:
    """Print the most frequent labels, and warn of suspicious names."""
    named = [f"{name} ({rows:,})" for name, rows in facts["most_frequent"].items()]
    others = facts["labels"] - len(named)
    more = f" and {count(others, 'other')}" if others else ""
    _print(f"Rows per label: {', '.join(named)}{more}.")
    odd = facts["names_that_look_wrong"]
    if odd:
        listed = format_names(
            [f"{name[:_MOST_CHARACTERS]!r} ({why})" for name, why in odd.items()], _MOST_LABELS
        )
        note(
            f"{count(len(odd), 'label name')} look{'s' * (len(odd) == 1)} wrong: {listed}. Check that the "
            f"column holds labels, and which separator it uses (--separator)."
        )


def _print(text: str) -> None:
    Terminal().print(text, soft_wrap=True)
