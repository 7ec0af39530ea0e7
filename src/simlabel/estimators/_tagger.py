"""Tagger: from a raw table to good tags."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from simlabel._utils.limits import limits
from simlabel._utils.progress import progress
from simlabel._utils.rows import drawn_rows, n_rows
from simlabel._utils.validation import check_flag, check_same_length
from simlabel.estimators._checks import checked_table
from simlabel.estimators._inspect import InspectionMixin
from simlabel.estimators._online import OnlineMixin
from simlabel.estimators._problem import can_be_mixed
from simlabel.estimators._sets import SetsMixin
from simlabel.estimators._sml import SMLClassifier
from simlabel.labels import LabelSpace, advise_on_labels, as_hierarchy
from simlabel.model import Batch, drop_weightless, resolve_ids
from simlabel.ridge import Ridge, fits_in_matrix
from simlabel.rules import PerLabel
from simlabel.similarities import RBF, Linear, OnColumns, Scaled, Similarity, Sum
from simlabel.sums import References
from simlabel.tables import (
    NUMBERS,
    Cells,
    TableEncoder,
    TableWarning,
    advise_on_categories,
    label_sets,
    leaking_columns,
    separator_for,
    tagged_rows,
    title_column,
)
from simlabel.tuning import (
    MOST_CANDIDATES,
    STRAIGHT_SHARE,
    ColumnSearch,
    ColumnWeights,
    check_criterion,
    rows_for_patterns,
)

_MANY_LABELS = 100  # to choose among all rules would take longer than all the rest


class Tagger(OnlineMixin, InspectionMixin, SetsMixin):
    """Tags the rows of a table: texts, categories, lists, numbers and dates, with empty cells.

    It finds out what each column holds, compares rows column by column, and chooses by leave-one-out how much
    each column counts, how strongly the influence of the labelled rows is held back (`Ridge`), and from which
    score on a row has a label. `describe` shows what was chosen, and everything that a model does works on
    tables: `partial_fit`, `forget`, `explain`, `suspicious_labels`, `suggest`, `save`.

    Parameters
    ----------
    columns : dict of name to kind, optional
        What columns hold where that is not to be found out: "number", "yes/no", "category", "multi", "date",
        "text", "url", "id", "ignore", or an `Embedding`.
    label_separator : str, None or "auto"
        What stands between the labels where y is given as texts, such as ``"Drama, Crime"``; None where
        each text is one label. "auto" finds out.
    id_column : str, optional
        The column by which rows are called, for `forget` and explanations.
    title_column : str, None or "auto"
        The column that is shown for a row in explanations; "auto" takes one called title or name, or else
        the shortest text.
    criterion : str or callable
        What decides how much columns count.
    label_rule : str, LabelRule or callable
        As in `SMLClassifier`. "auto" chooses among all rules for micro F1, or, where there are more than 100
        labels, takes a threshold for each (`PerLabel("f1_micro")`).
    calibration : None, str or LeaveOneOutCalibration
        As in `SMLClassifier`.
    hierarchy : None, str, dict or Hierarchy
        Labels that are part of others, as in `SMLClassifier`.
    engine : str or engine
        As in `SMLClassifier`.
    verbose : bool
        Whether to show what was found out, and progress.
    n_jobs : int or None
        Threads; None for all cores.
    random_state : int, RandomState or None
        For the choice of the rows by which columns are weighed, where there are more than 2,500.
    absent : None, "unknown" or PresenceOnly
        As in `SMLClassifier`: whether a tag that a row has not been given may apply all the same.
    empty : {"untagged", "none"}, default="untagged"
        What an empty cell in a column of labels means (an empty text, None or NaN): "untagged" leaves the row
        out, with a `TableWarning` that says how many; "none" means that no label applies. An empty set or
        list always means that no label applies.

    Attributes
    ----------
    encoder_ : TableEncoder
        What was found out about the columns.
    label_separator_ : str or None
        What was found between labels.
    title_column_ : str or None
        The column by which rows are shown.
    tuning_ : TuningResult
        The weights and penalties that were tried.
    classes_, ids_, n_references_, influence_, label_rule_, calibration_
        As in `SMLClassifier`.

    See Also
    --------
    SMLClassifier : For features and embeddings; `encoder="table"` has the same encoder as a stage.
    simlabel.datasets.read_table : Reads CSV, JSON, Parquet and xlsx as they are.

    Examples
    --------
    >>> films = [
    ...     {"title": "Jaws", "plot": "a shark hunts swimmers off a beach"},
    ...     {"title": "Deep Blue Sea", "plot": "a shark hunts scientists under the sea"},
    ...     {"title": "Notting Hill", "plot": "a film star falls in love with a bookseller"},
    ...     {"title": "Love Actually", "plot": "many people fall in love at Christmas"},
    ... ]
    >>> tagger = Tagger().fit(films, ["horror, sea", "horror, sea", "romance", "romance"])
    >>> sorted(tagger.predict([{"title": "The Meg", "plot": "an old shark hunts a crew at sea"}])[0])
    ['horror', 'sea']
    """

    def __init__(
        self,
        columns: Any = None,
        *,
        label_separator: str | None = "auto",
        id_column: str | None = None,
        title_column: str | None = "auto",
        criterion: Any = "average_precision",
        label_rule: Any = "auto",
        calibration: Any = "auto",
        hierarchy: Any = None,
        engine: Any = "auto",
        verbose: bool = False,
        n_jobs: int | None = None,
        random_state: Any = 0,
        absent: Any = None,
        empty: str = "untagged",
    ) -> None:
        self.columns = columns
        self.label_separator = label_separator
        self.id_column = id_column
        self.title_column = title_column
        self.criterion = criterion
        self.label_rule = label_rule
        self.calibration = calibration
        self.hierarchy = hierarchy
        self.engine = engine
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.absent = absent
        self.empty = empty

    def fit(self, X: Any, y: Any, sample_weight: Any = None, ids: Any = None, groups: Any = None) -> Self:
        """Find out what the columns hold, keep the labelled rows, and choose the rest by leave-one-out.

        Parameters
        ----------
        X : pandas or polars frame, list of dicts, or list of texts
        y : list of texts or of label sets, a column of either, or a 0/1 frame or array
            The labels of each row. Texts hold them with separators between, as JSON, Python or brace lists,
            or as hashtags. Rows with an empty cell are left out (see `empty`).
        sample_weight : array, (n_rows,), optional
            How many times each row counts.
        ids : list, (n_rows,), optional
            What the rows are called; by default the cells of `id_column`, or numbers.
        groups : list, (n_rows,), optional
            What each row belongs to, where rows of one group are nearly copies of each other; wherever a row
            is left out in order to choose something, its whole group is.
        """
        with self._changing() as changed:
            changed._reset()
            batch = changed._fit(X, y, sample_weight, ids, groups, None)
            advise_on_labels(batch.labels.classes.tolist(), batch.Y)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, ids: Any, groups: Any, classes: Any) -> Batch:
        check_flag("Tagger", "verbose", self.verbose)
        check_criterion("Tagger", self.criterion)
        TableEncoder(self.columns).check()
        cells = checked_table(X)
        self.n_features_in_ = len(cells.names)
        self.feature_names_in_ = np.array(cells.names, dtype=object)
        self.label_separator_ = separator_for(y, self.label_separator)
        kept, found = self._tagged(y, len(cells.rows)), label_sets(y, self.label_separator_)
        names = resolve_ids(self._ids(cells, ids), len(cells.rows), None)
        if kept is not None:
            cells, found = Cells(cells.names, _at(cells.rows, kept)), _at(found, kept)
            sample_weight, groups = _at(sample_weight, kept), _at(groups, kept)
            names = np.asarray(names)[kept]
        space, Y, unknown = LabelSpace.learn_known(found, as_hierarchy(self.hierarchy))
        check_same_length(len(cells.rows), Y, "y")
        batch = drop_weightless(cells.rows, space, Y, sample_weight, names, groups, unknown)
        if classes is not None:
            batch = batch.relabelled(batch.labels.declared(classes))
        self._learn(batch, None)
        return batch

    def _tagged(self, y: Any, n_rows: int) -> Any:
        """Return the positions of the tagged rows, and say how many are left out; None for all rows."""
        kept = tagged_rows(y, self.empty)
        if kept is None or len(y) != n_rows:
            return None
        gone = n_rows - len(kept)
        warnings.warn(
            f"{gone:,} of {n_rows:,} rows have an empty label cell and are left out as untagged. If an empty "
            f"cell means that no label applies, use Tagger(empty='none').",
            TableWarning,
            stacklevel=5,
        )
        return kept

    def _ids(self, cells: Cells, ids: Any) -> Any:
        if ids is not None or self.id_column is None:
            return ids
        if self.id_column not in cells.names:
            raise ValueError(
                f"id_column: there is no column {self.id_column!r}; there are {list(cells.names)}."
            )
        found = cells.column(self.id_column)
        if None in found:
            raise ValueError(f"id_column: {self.id_column!r} is empty in row {found.index(None)}.")
        return found

    def _learn(self, batch: Batch, columns: npt.NDArray[np.int64] | None) -> None:
        cells = Cells(tuple(self.feature_names_in_.tolist()), batch.X)
        given = dict(self.columns or {})
        if self.id_column is not None:
            given.setdefault(self.id_column, "id")
        encoder = TableEncoder(given).fit(cells)
        self.title_column_ = title_column(cells, encoder.columns_, self.title_column)
        self._tell(encoder, cells, batch)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        found = self._weighed_columns(encoder, batch, seed)
        recipe = SMLClassifier(
            _weighed(encoder, found),
            normalizer=None,
            influence=Ridge(found.penalty, mixing=can_be_mixed(batch, self.absent)),
            label_rule=self._rule(len(batch.labels.classes)),
            calibration=self.calibration,
            engine=self.engine,
            n_jobs=self.n_jobs,
            random_state=seed,
            absent=self.absent,
        )
        with progress(f"learning from {n_rows(batch.X):,} rows", None, self.verbose):
            recipe._learn(batch, None, encoder=encoder)
        self.tuning_ = replace(found.curve, n_rows=n_rows(batch.X))
        self._publish(recipe._model)

    def _rule(self, n_labels: int) -> Any:
        unsaid = isinstance(self.label_rule, str) and self.label_rule == "auto"
        return PerLabel("f1_micro") if unsaid and n_labels > _MANY_LABELS else self.label_rule

    def _tell(self, encoder: TableEncoder, cells: Cells, batch: Batch) -> None:
        if self.verbose:
            from rich.console import Console

            Console(stderr=True).print(encoder)
        advise_on_categories(cells, encoder)
        for name in leaking_columns(cells, encoder, batch.labels.classes, batch.Y):
            warnings.warn(
                f"column {name!r} holds the labels themselves, and a model that reads it looks better than "
                f"it is. Leave it out: columns={{{name!r}: 'ignore'}}.",
                TableWarning,
                stacklevel=6,
            )

    def _weighed_columns(self, encoder: TableEncoder, batch: Batch, seed: int) -> ColumnWeights:
        n, most = n_rows(batch.X), min(limits().tuned_rows, rows_for_patterns(_references(batch)))
        if n > most:
            batch = batch.part(drawn_rows(batch.order, most, seed))
        references = _references(batch)
        bent = NUMBERS if fits_in_matrix(n) else None  # beyond, only inner products are exact
        with progress(
            f"weighing columns, at most {MOST_CANDIDATES} tries", MOST_CANDIDATES, self.verbose
        ) as advance:
            blocks = encoder.blocks(batch.X)
            search = ColumnSearch(blocks, references, self.criterion, bent, lambda *_: advance(), self.n_jobs)
            return search.run()

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        ids: Any = None,
        groups: Any = None,
    ) -> Self:
        """Add labelled rows, new words and new labels included, at once; as in `SMLClassifier`.

        What was chosen stays until `retune`. A new word counts from now on, as much as a word seen once.
        """
        if self.__sklearn_is_fitted__():
            X = checked_table(X)
            ids, kept = self._ids(X, ids), self._tagged(y, len(X.rows))
            if kept is not None:
                X, y = Cells(X.names, _at(X.rows, kept)), _at(self._read(y), kept)
                sample_weight, ids, groups = (_at(each, kept) for each in (sample_weight, ids, groups))
        return super().partial_fit(X, y, classes, sample_weight, ids, groups)

    def exchange(
        self,
        gone: Any,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        ids: Any = None,
        groups: Any = None,
    ) -> Self:
        """Forget some labelled rows, and add others, in one step; as in `SMLClassifier`."""
        check_is_fitted(self)
        X = checked_table(X)
        return super().exchange(gone, X, y, sample_weight, self._ids(X, ids), groups)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows whose predicted label set is exactly right."""
        check_is_fitted(self)
        X = checked_table(X)
        kept, y = self._tagged(y, len(X.rows)), self._read(y)
        if kept is not None:
            X, y = Cells(X.names, _at(X.rows, kept)), _at(y, kept)
            sample_weight = _at(sample_weight, kept)
        return super().score(X, y, sample_weight)

    def _read(self, y: Any) -> Any:
        return label_sets(y, self.label_separator_) if self._model.labels.kind == "sets" else y

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags


def _at(values: Any, rows: npt.NDArray[np.int64]) -> Any:
    """Return the values at some positions; None for None."""
    if values is None:
        return None
    values = values.tolist() if hasattr(values, "tolist") else list(values)
    return [values[row] for row in rows.tolist()]


def _references(batch: Batch) -> References:
    return References(batch.X, batch.Y, batch.weights, groups=batch.groups, unknown=batch.unknown)


def _weighed(encoder: TableEncoder, found: ColumnWeights) -> Similarity:
    """Give the encoder its weights, and return what its rows are compared by."""
    encoder.weights = dict(found.weights)
    if found.gamma is None:
        return Linear()
    weight = found.weights[NUMBERS]
    encoder.weights[NUMBERS] = straight = STRAIGHT_SHARE * weight
    rbf = OnColumns(RBF(found.gamma / straight), encoder.number_slots)
    return Sum(Linear(), Scaled(rbf, weight))
