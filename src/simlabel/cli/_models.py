"""A model file, and what it is asked."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import scipy.sparse as sp
import typer

from simlabel import AutoSMLClassifier, SMLClassifier, Tagger, load
from simlabel._utils.text import some_names
from simlabel._utils.validation import Rows
from simlabel.cli._console import say
from simlabel.cli._options import Reading
from simlabel.cli._rows import MatrixRows, RowSource, TableRows, all_of, check_ids
from simlabel.cli._table_fit import is_table
from simlabel.datasets import Dataset, Numbered
from simlabel.labels import LabelSpace, Partial, UnknownLabels
from simlabel.model import Outputs
from simlabel.model.inspection import Explanation
from simlabel.tables import TableEncoder, label_sets, separator_for, split, table_cells, tagged_rows

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class FittedModel:
    """A model from a file.

    Attributes
    ----------
    estimator : SMLClassifier, AutoSMLClassifier or Tagger
    features : tuple of str, or int
        Names of its features; only their number where it was fitted without names.
    labels : list of str
    """

    estimator: SMLClassifier | AutoSMLClassifier | Tagger
    features: Sequence[str] | int
    labels: list[str]

    @classmethod
    def open(cls, path: Path) -> FittedModel:
        """Read a model that `simlabel fit` or `save` wrote."""
        estimator = load(path)
        names = getattr(estimator, "feature_names_in_", None)
        features = int(estimator.n_features_in_) if names is None else tuple(map(str, names))
        return cls(estimator, features, [str(label) for label in estimator.classes_])

    @property
    def encoder(self) -> TableEncoder | None:
        """What reads raw tables, where the model does."""
        return self.estimator.encoder_

    @property
    def separator(self) -> str | None:
        """What stood between the labels that it was fitted on."""
        return getattr(self.estimator, "label_separator_", None)

    @property
    def label_column(self) -> str | None:
        """The column of labels of the file that it was fitted on."""
        return getattr(self.estimator, "label_column_", None)

    @property
    def called(self) -> dict[str, str | None]:
        """The columns by which rows are called, ``id`` and ``title``."""
        return {
            "id": getattr(self.estimator, "id_column", None),
            "title": getattr(self.estimator, "title_column_", None),
        }

    def rows(
        self, path: Path, reading: Reading, chunk_rows: int = 4096, index_base: int | None = None
    ) -> RowSource:
        """The rows of a file: a raw table if the model reads tables, else features by name or number."""
        if self.encoder is not None:
            labels = self.labels if self.label_column is None else [self.label_column]
            return TableRows(path, self.encoder, self.called, chunk_rows, reading, labels)
        return MatrixRows(path, self.features, chunk_rows, reading, index_base)

    def labelled(
        self, source: str, reading: Reading, index_base: int | None = None, id_column: str | None = None
    ) -> Dataset:
        """A labelled file, or a data set by name, in the model's columns; of a table X is a frame.

        Labels are in the column that the model was fitted on, unless the user says otherwise. Ids in
        `id_column` must differ.
        """
        path = Path(source)
        told = reading.labels or reading.label_prefix or reading.label_column
        if not told and is_table(source, reading.format):
            reading = replace(reading, label_column=self.label_column)
        if self.encoder is not None:
            return self._labelled_table(path, reading, id_column)
        data = reading.load(source)
        if path.is_file():
            X = all_of(self.rows(path, reading, index_base=index_base), path)
            known = self.features
            names = tuple(map(str, range(known))) if isinstance(known, int) else tuple(known)
            return replace(data, X=X, feature_names=names, n_attributes=-1)
        if isinstance(self.features, int):
            same = self.features == len(data.feature_names)
        else:
            same = tuple(self.features) == tuple(data.feature_names)
        if not same:
            raise ValueError(f"{data.name} does not have the features that the model was fitted on.")
        return data

    def _labelled_table(self, path: Path, reading: Reading, id_column: str | None) -> Dataset:
        assert self.encoder is not None
        empty = getattr(self.estimator, "empty", "untagged")
        source = TableRows(
            path, self.encoder, self.called, 4096, reading, own_labels=self.labels, empty=empty
        )
        if not source.label_source.columns:
            raise typer.BadParameter(
                "the model reads raw tables: name the column of labels with --label-column, or columns of 0 "
                "and 1 with --labels."
            )
        frame = all_of(source, path)
        if id_column in frame:
            check_ids(table_cells({"": frame[id_column]}).column(""), source.lines, str(id_column), path)
        sets = label_sets(source.labels, None)
        if source.label_source.column is not None:
            sets = self.label_sets(source.labels, reading.separator)
        kept = tagged_rows(source.labels, empty)
        if kept is not None:
            frame, sets = frame.iloc[kept], [sets[row] for row in kept.tolist()]
            gone = len(source.labels) - len(kept)
            say(f"{gone:,} of {len(source.labels):,} rows have an empty label cell: left out as untagged.")
        space, Y, unknown = LabelSpace.learn_known(sets)
        names = [str(name) for name in space.classes]
        return LabeledRows(path.stem, frame, Y, names, tuple(frame.columns), unknown=unknown)

    def labels_in_use(self) -> set[str]:
        """Names of the labels that at least one row has, or may have."""
        model = self.estimator._model
        references = model.scorer.references
        used = set(references.Y.indices.tolist())
        if references.knowledge is not None:
            used.update(references.knowledge.entries.indices.tolist())
        return {str(name) for k, name in enumerate(model.labels.classes.tolist()) if k in used}

    def label_sets(self, cells: Sequence[Any], separator: str | None) -> list[set[str]]:
        """The labels in cells of a table, by the separator that is given, else by the model's."""
        if separator is None:
            texts = [cell for cell in cells if isinstance(cell, str)]
            known = hasattr(self.estimator, "label_separator_")
            separator = self.separator if known else separator_for(texts, "auto")
        return [set(split(cell, separator or "")) for cell in cells]

    def by_name(self, sets: Sequence[set[str] | Partial]) -> list[set[Any] | Partial]:
        """Label sets with the model's own labels, which may be numbers, for their names."""
        known = dict(zip(self.labels, self.estimator.classes_.tolist(), strict=True))

        def own(names: Iterable[Any]) -> set[Any]:
            return {known.get(name, name) for name in names}

        return [Partial(own(s.present), own(s.absent)) if isinstance(s, Partial) else own(s) for s in sets]

    def ids_by_name(self, names: Sequence[str], option: str) -> list[Any]:
        """The ids of labelled rows, which may be numbers, by their names; an unknown one is misuse."""
        known = {str(name): name for name in self.estimator.ids_.tolist()}
        unknown = [name for name in names if name not in known]
        if unknown:
            more = f" and {len(unknown) - 5:,} more" if len(unknown) > 5 else ""
            shown = ", ".join(map(repr, unknown[:5]))
            own = ", ".join(map(repr, list(known)[:3]))
            raise typer.BadParameter(
                f"{option}: the model has no labelled rows called {shown}{more}; its rows are called {own} "
                f"and so on (fit --id names the column by which they are called)."
            )
        return [known[name] for name in names]

    def outputs(self, X: Rows) -> Outputs:
        """Label sets, label weights and probabilities."""
        return self.ask(self.estimator.outputs, X)

    def sets(self, outputs: Outputs) -> list[tuple[str, ...]]:
        """The names of the labels in each set, strongest first."""
        return [tuple(self.labels[k] for k in columns) for columns in outputs.columns]

    def probabilities_of(self, outputs: Outputs, sets: Sequence[tuple[str, ...]]) -> list[list[float]]:
        """The probability of each label of each set."""
        place = {label: k for k, label in enumerate(self.labels)}
        rows = zip(outputs.probabilities.tolist(), sets, strict=True)
        return [[row[place[label]] for label in labels] for row, labels in rows]

    def explain(self, X: Rows, top: int | None, labels: Sequence[str] | None) -> Explanation:
        """What decided for these labels, else for the predicted ones."""
        known = dict(zip(self.labels, self.estimator.classes_.tolist(), strict=True))
        for name in labels or ():
            if name not in known:
                named = some_names([repr(label) for label in self.labels])
                raise typer.BadParameter(f"--label: the model has no label {name!r}; it has {named}.")
        own = None if labels is None else [known[name] for name in labels]
        return self.ask(partial(self.estimator.explain, top=top, labels=own), X)

    def ask(self, method: Callable[[Rows], Answer], X: Rows) -> Answer:
        """Call a method of the estimator with rows that a `RowSource` gave."""
        with warnings.catch_warnings():
            # the columns were matched by name when the file was read
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return method(X)


@dataclass(frozen=True, repr=False, eq=False)
class LabeledRows(Dataset):
    """The rows of a labeled table, with the entries of Y that are unknown."""

    unknown: UnknownLabels | None = None


def partial_sets_of(data: Dataset) -> list[set[str] | Partial]:
    """The label sets of a data set, by name; `Partial` where some labels of a row are unknown."""
    known = label_sets_of(data)
    sets: list[set[str] | Partial] = [*known]
    unknown = getattr(data, "unknown", None)
    if unknown is not None:
        everything = {str(name) for name in data.label_names}
        for row in np.flatnonzero(unknown.open_rows).tolist():
            start, stop = unknown.entries.indptr[row : row + 2]
            open_ = {str(data.label_names[k]) for k in unknown.entries.indices[start:stop]}
            sets[row] = Partial(known[row], everything - known[row] - open_)
    return sets


def label_sets_of(data: Dataset) -> list[set[str]]:
    """The label sets of a data set, by name."""
    names = [str(name) for name in data.label_names]
    bounds = zip(data.Y.indptr[:-1], data.Y.indptr[1:], strict=True)
    return [{names[k] for k in data.Y.indices[start:stop]} for start, stop in bounds]


def as_fitted(data: Dataset) -> tuple[Rows, list[set[str]]]:
    """X with the names of its columns, where it has any, and label sets by name."""
    sets = label_sets_of(data)
    if isinstance(data.feature_names, Numbered):
        return data.X, sets
    columns = list(data.feature_names)
    if sp.issparse(data.X):
        sparse: Any = pd.DataFrame.sparse  # its types are missing
        return sparse.from_spmatrix(data.X, columns=columns), sets
    return pd.DataFrame(data.X, columns=columns), sets
