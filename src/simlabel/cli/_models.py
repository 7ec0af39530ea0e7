"""A model file: its rows, labels and predictions by name."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import scipy.sparse as sp
import typer

from simlabel import AutoSMLClassifier, SMLClassifier, Tagger, load
from simlabel._utils.text import format_names
from simlabel._utils.validation import Rows
from simlabel.cli._console import say
from simlabel.cli._options import Reading
from simlabel.cli._rows import (
    MatrixRows,
    RowSource,
    TableRows,
    all_rows,
    check_unique_ids,
    column_cells,
    is_table,
)
from simlabel.datasets import Dataset, NumberedNames
from simlabel.guarantees import FittedGuarantee
from simlabel.labels import LabelSpace, PartialLabels, UnknownLabels
from simlabel.model import Outputs
from simlabel.model.inspection import Explanation
from simlabel.tables import TableEncoder, label_sets, separator_for, split, tagged_rows

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class FittedModel:
    """A model from a file.

    Attributes
    ----------
    estimator : SMLClassifier, AutoSMLClassifier or Tagger
    features : tuple of str, or int
        Names of its features; only their number if it was fitted without names.
    labels : list of str
    """

    estimator: SMLClassifier | AutoSMLClassifier | Tagger
    features: tuple[str, ...] | int
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
        """The encoder of raw tables, if the model reads them."""
        return self.estimator.encoder_

    @property
    def separator(self) -> str | None:
        """The separator of the labels that the model was fitted on."""
        return getattr(self.estimator, "label_separator_", None)

    @property
    def label_column(self) -> str | None:
        """The label column of the file that the model was fitted on."""
        return getattr(self.estimator, "label_column_", None)

    @property
    def id_column(self) -> str | None:
        """The column of row ids."""
        return getattr(self.estimator, "id_column", None)

    def _table_rows(self, path: Path, chunk_rows: int, reading: Reading, **options: Any) -> TableRows:
        assert self.encoder is not None
        names = {"id": self.id_column, "title": getattr(self.estimator, "title_column_", None)}
        return TableRows(path, self.encoder, names, chunk_rows, reading, **options)

    def rows(
        self, path: Path, reading: Reading, chunk_rows: int = 4096, index_base: int | None = None
    ) -> RowSource:
        """Read the rows of a file: a raw table if the model reads tables, else a feature matrix."""
        if self.encoder is not None:
            labels = self.labels if self.label_column is None else [self.label_column]
            return self._table_rows(path, chunk_rows, reading, ignored=labels)
        return MatrixRows(path, self.features, chunk_rows, reading, index_base)

    def labeled(
        self, source: str, reading: Reading, index_base: int | None = None, id_column: str | None = None
    ) -> Dataset:
        """Load a labeled file, or a named data set, in the columns of the model; of a table X is a frame.

        Labels are read from the column that the model was fitted on, unless an option names others. Ids in
        `id_column` must be distinct.
        """
        path = Path(source)
        given = reading.labels or reading.label_prefix or reading.label_column
        if not given and is_table(source, reading.format):
            reading = replace(reading, label_column=self.label_column)
        if self.encoder is not None:
            return self._labeled_table(path, reading, id_column)
        data = reading.load(source)
        if path.is_file():
            X = all_rows(self.rows(path, reading, index_base=index_base), path)
            names = NumberedNames(self.features) if isinstance(self.features, int) else self.features
            return replace(data, X=X, feature_names=names, n_attributes=-1)
        if self.features not in (len(data.feature_names), tuple(data.feature_names)):
            raise ValueError(f"{data.name} does not have the features that the model was fitted on.")
        return data

    def _labeled_table(self, path: Path, reading: Reading, id_column: str | None) -> Dataset:
        empty = getattr(self.estimator, "empty", "untagged")
        source = self._table_rows(path, 4096, reading, own_labels=self.labels, empty=empty)
        if not source.label_source.columns:
            raise typer.BadParameter(
                "the model reads raw tables: name the label column with --label-column, or columns of "
                "0 and 1 with --labels."
            )
        frame = all_rows(source, path)
        if id_column in frame:
            check_unique_ids(column_cells(frame[id_column]), source.lines, str(id_column), path)
        sets = label_sets(source.labels, None)
        if source.label_source.column is not None:
            sets = self.label_sets(source.labels, reading.separator)
        tagged = tagged_rows(source.labels, empty)
        if tagged is not None:
            frame, sets = frame.iloc[tagged], [sets[row] for row in tagged.tolist()]
            n_rows = len(source.labels)
            say(
                f"{n_rows - len(tagged):,} of {n_rows:,} rows have an empty label cell: left out as untagged."
            )
        space, Y, unknown = LabelSpace.learn_known(sets)
        names = [str(name) for name in space.classes]
        return LabeledRows(path.stem, frame, Y, names, tuple(frame.columns), sets=sets, unknown=unknown)

    def labels_in_use(self) -> set[str]:
        """Return the names of the labels that at least one row has, or may have."""
        model = self.estimator._model
        references = model.scorer.references
        used = set(references.Y.indices.tolist())
        if references.knowledge is not None:
            used.update(references.knowledge.entries.indices.tolist())
        return {str(name) for k, name in enumerate(model.labels.classes.tolist()) if k in used}

    def label_sets(self, cells: Sequence[Any], separator: str | None) -> list[set[str]]:
        """Split the label cells of a table by the given separator, by default by that of the model."""
        if separator is None:
            texts = [cell for cell in cells if isinstance(cell, str)]
            known = hasattr(self.estimator, "label_separator_")
            separator = self.separator if known else separator_for(texts, "auto")
        return [set(split(cell, separator or "")) for cell in cells]

    @property
    def _classes(self) -> dict[str, Any]:
        """The labels, which may be numbers, by name."""
        return dict(zip(self.labels, self.estimator.classes_.tolist(), strict=True))

    def by_name(self, sets: Sequence[set[str] | PartialLabels]) -> list[set[Any] | PartialLabels]:
        """Replace the names in label sets by the labels of the model."""
        classes = self._classes

        def known(names: Iterable[Any]) -> set[Any]:
            return {classes.get(name, name) for name in names}

        return [
            PartialLabels(known(s.present), known(s.absent)) if isinstance(s, PartialLabels) else known(s)
            for s in sets
        ]

    def ids_by_name(self, names: Sequence[str], option: str) -> list[Any]:
        """Return the ids, which may be numbers, of labeled rows by name; an unknown name is an error."""
        known = {str(name): name for name in self.estimator.ids_.tolist()}
        unknown = [name for name in names if name not in known]
        if unknown:
            raise typer.BadParameter(
                f"{option}: the model has no rows with the ids {format_names(list(map(repr, unknown)))}; its "
                f"ids are {', '.join(map(repr, list(known)[:3]))} and so on (fit --id names the id column)."
            )
        return [known[name] for name in names]

    def outputs(self, X: Rows) -> Outputs:
        """Return label sets, label weights and probabilities."""
        return self.call(self.estimator.outputs, X)

    def sets(self, outputs: Outputs) -> list[tuple[str, ...]]:
        """Return the names of the labels in each set, strongest first."""
        return [tuple(self.labels[k] for k in columns) for columns in outputs.columns]

    def guaranteed_sets(self, fitted_guarantee: FittedGuarantee, X: Rows) -> list[tuple[str, ...] | None]:
        """Return label sets that satisfy a guarantee, by name; None for rows without a useful one."""
        sets = self.call(partial(self.estimator.predict_sets, guarantee=fitted_guarantee), X)
        return [None if each is None else tuple(map(str, each)) for each in sets]

    def probabilities_of(self, outputs: Outputs, sets: Sequence[tuple[str, ...]]) -> list[list[float]]:
        """Return the probability of each label of each set."""
        place = {label: k for k, label in enumerate(self.labels)}
        rows = zip(outputs.probabilities.tolist(), sets, strict=True)
        return [[row[place[label]] for label in labels] for row, labels in rows]

    def explain(self, X: Rows, top: int | None, labels: Sequence[str]) -> Explanation:
        """Explain the scores of these labels, by default of the predicted ones."""
        classes = self._classes
        for name in labels:
            if name not in classes:
                named = format_names([repr(label) for label in self.labels])
                raise typer.BadParameter(f"--label: the model has no label {name!r}; it has {named}.")
        chosen = [classes[name] for name in labels] or None
        return self.call(partial(self.estimator.explain, top=top, labels=chosen), X)

    def call(self, method: Callable[[Rows], _Result], X: Rows) -> _Result:
        """Call a method of the estimator with rows from a `RowSource`."""
        with warnings.catch_warnings():
            # the columns were matched by name when the file was read
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return method(X)


@dataclass(frozen=True, repr=False, eq=False)
class LabeledRows(Dataset):
    """The rows of a labeled table, with their label sets, and the entries of Y that are unknown."""

    sets: Sequence[set[str] | PartialLabels] = ()
    unknown: UnknownLabels | None = None


def extract_label_sets(data: Dataset) -> list[set[str]]:
    """Return the label sets of a data set, by name."""
    names = [str(name) for name in data.label_names]
    bounds = zip(data.Y.indptr[:-1], data.Y.indptr[1:], strict=True)
    return [{names[k] for k in data.Y.indices[start:stop]} for start, stop in bounds]


def named_columns(data: Dataset) -> Rows:
    """Return X as a frame with the names of its columns, if it has any."""
    if isinstance(data.feature_names, NumberedNames):
        return data.X
    columns = list(data.feature_names)
    if sp.issparse(data.X):
        sparse: Any = pd.DataFrame.sparse  # its types are missing
        return sparse.from_spmatrix(data.X, columns=columns)
    return pd.DataFrame(data.X, columns=columns)
