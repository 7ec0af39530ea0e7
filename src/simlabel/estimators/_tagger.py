"""Tagger: label the rows of a raw table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from simlabel._utils.advice import warn_user
from simlabel._utils.limits import limits
from simlabel._utils.progress import progress
from simlabel._utils.rows import n_rows, sample_rows
from simlabel._utils.validation import IntArray, check_flag
from simlabel.estimators._inspection import InspectionMixin
from simlabel.estimators._problem import GivenRows, can_be_mixed, check_table, draw_seed
from simlabel.estimators._sml import chosen_classifier
from simlabel.estimators._updates import UpdateMixin
from simlabel.model import Batch, resolve_ids
from simlabel.ridge import Ridge, fits_in_matrix
from simlabel.rules import PerLabel
from simlabel.similarities import RBF, Linear, OnColumns, Scaled, Similarity, Sum
from simlabel.sums import References
from simlabel.tables import (
    NUMBERS,
    Cells,
    TableEncoder,
    TableWarning,
    label_sets,
    leaking_columns,
    separator_for,
    tagged_rows,
    title_column,
    warn_about_categories,
)
from simlabel.tuning import (
    MAX_CANDIDATES,
    STRAIGHT_SHARE,
    ColumnSearch,
    ColumnWeights,
    check_criterion,
    rows_for_patterns,
)

_MANY_LABELS = 100  # comparing all rules would take longer than everything else


class Tagger(UpdateMixin, InspectionMixin):
    """Tag the rows of a table: texts, categories, lists, numbers and dates, with empty cells.

    It detects the kind of each column, compares rows column by column, and chooses by leave-one-out the
    weight of each column, the penalty of the influence (`Ridge`), and the threshold of each label. The result
    is fitted as an `SMLClassifier`. `describe` shows what was chosen, and all methods work on
    tables: `partial_fit`, `forget`, `explain`, `suspicious_labels`, `suggest`, `save`. A new word counts
    from `partial_fit` on, as much as a word seen once.

    Parameters
    ----------
    columns : dict of name to kind, optional
        Kinds of columns that are not to be detected: "number", "yes/no", "category", "multi", "date",
        "text", "url", "id", "ignore", or an `Embedding`.
    label_separator : str, None or "auto"
        Separator of the labels if y is given as texts, such as ``"Drama, Crime"``; None if
        each text is one label. "auto" detects it.
    id_column : str, optional
        The column with the ids of the rows, for `forget` and explanations.
    title_column : str, None or "auto"
        The column that is shown for a row in explanations; "auto" takes one called title or name, or else
        the shortest text.
    criterion : str or callable
        Metric by which columns are weighted.
    label_rule : str, LabelRule or callable
        As in `SMLClassifier`. "auto" chooses among all rules for micro F1, or, with more than 100
        labels, tunes a threshold for each (`PerLabel("f1_micro")`).
    calibration : None, str or LeaveOneOutCalibration
        As in `SMLClassifier`.
    hierarchy : None, str, dict or Hierarchy
        Labels that are part of others, as in `SMLClassifier`.
    engine : str or engine
        As in `SMLClassifier`.
    verbose : bool
        Whether to show the detected kinds of columns, and progress.
    n_jobs : int or None
        Number of threads; None for all cores.
    random_state : int, RandomState or None
        For the choice of the rows by which columns are weighted, if there are more than 2,500.
    unlabeled : None, "unknown" or PositiveUnlabeled
        As in `SMLClassifier`: whether a tag that a row does not have may be missing.
    empty : {"untagged", "none"}, default="untagged"
        What an empty cell in a column of labels means (an empty text, None or NaN): "untagged" drops the row,
        with a `TableWarning` that counts them; "none" means that no label applies. An empty set or
        list always means that no label applies.

    Attributes
    ----------
    encoder_ : TableEncoder
        The detected kinds of the columns, and what was learned for each.
    label_separator_ : str or None
        The detected separator of labels.
    title_column_ : str or None
        The column that is shown for a row.
    tuning_ : TuningResult
        The weights and penalties that were tried.
    classes_, ids_, n_references_, influence_, label_rule_, calibration_
        As in `SMLClassifier`.

    See Also
    --------
    SMLClassifier : For features and embeddings; with `encoder="table"` it has the same encoder.
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
        unlabeled: Any = None,
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
        self.unlabeled = unlabeled
        self.empty = empty

    def _training_batch(self, given: GivenRows, classes: Any = None) -> Batch:
        check_flag("Tagger", "verbose", self.verbose)
        check_criterion("Tagger", self.criterion)
        TableEncoder(self.columns).check()
        cells = check_table(given.X)
        self.n_features_in_ = len(cells.names)
        self.feature_names_in_ = np.array(cells.names, dtype=object)
        self.label_separator_ = separator_for(given.y, self.label_separator)
        ids = resolve_ids(self._ids(cells, given.ids), len(cells.rows), None)
        given = self._tagged(given._replace(X=cells, ids=ids), label_sets(given.y, self.label_separator_))
        if isinstance(given.ids, range):
            given = given._replace(ids=None)
        return super()._training_batch(given, classes)

    def _check_training_rows(self, X: Cells) -> Any:
        return X.rows

    def _add_rows(self, method: str, given: GivenRows, classes: Any = None, removed: Any = None) -> None:
        cells = check_table(given.X)
        given = given._replace(X=cells, ids=self._ids(cells, given.ids))
        super()._add_rows(method, self._tagged(given, self._read(given.y)), classes, removed)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose predicted label set is exactly right."""
        check_is_fitted(self)
        given = self._tagged(GivenRows(check_table(X), y, sample_weight), self._read(y))
        return super().score(given.X, given.y, given.sample_weight)

    def _read(self, y: Any) -> Any:
        return label_sets(y, self.label_separator_) if self._model.labels.kind == "sets" else y

    def _tagged(self, given: GivenRows, labels: Any) -> GivenRows:
        """Return cells with their `labels` as y, without untagged rows."""
        n, rows = len(given.X.rows), tagged_rows(given.y, self.empty)
        if rows is None or len(given.y) != n:
            return given._replace(y=labels)
        warn_user(
            f"{n - len(rows):,} of {n:,} rows have an empty label cell and are left out as untagged. If an "
            f"empty cell means that no label applies, use Tagger(empty='none').",
            TableWarning,
        )
        cells, *others = given._replace(y=labels)
        return GivenRows(Cells(cells.names, _at(cells.rows, rows)), *(_at(each, rows) for each in others))

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

    def _learn(self, batch: Batch) -> None:
        cells = Cells(tuple(self.feature_names_in_.tolist()), batch.X)
        columns = dict(self.columns or {})
        if self.id_column is not None:
            columns.setdefault(self.id_column, "id")
        encoder = TableEncoder(columns).fit(cells)
        self.title_column_ = title_column(cells, encoder.columns_, self.title_column)
        self._report(encoder, cells, batch)
        seed = draw_seed(self.random_state)
        found, rule = self._weigh_columns(encoder, batch, seed), self.label_rule
        if isinstance(rule, str) and rule == "auto" and len(batch.labels.classes) > _MANY_LABELS:
            rule = PerLabel("f1_micro")
        influence = Ridge(found.penalty, mixing=can_be_mixed(batch, self.unlabeled))
        similarity = _weighted_similarity(encoder, found)
        chosen = chosen_classifier(self, similarity, None, influence, rule, seed)
        with progress(f"learning from {n_rows(batch.X):,} rows", None, self.verbose):
            chosen._learn(batch, encoder)
        self.tuning_ = replace(found.curve, n_rows=n_rows(batch.X))
        self._publish(chosen._model)

    def _report(self, encoder: TableEncoder, cells: Cells, batch: Batch) -> None:
        """Show the columns, and warn about unsuitable ones."""
        if self.verbose:
            from rich.console import Console

            Console(stderr=True).print(encoder)
        warn_about_categories(cells, encoder)
        for name in leaking_columns(cells, encoder, batch.labels.classes, batch.Y):
            warn_user(
                f"column {name!r} holds the labels themselves, so scores of a model that reads it are too "
                f"good. Leave it out: columns={{{name!r}: 'ignore'}}.",
                TableWarning,
            )

    def _weigh_columns(self, encoder: TableEncoder, batch: Batch, seed: int) -> ColumnWeights:
        n, most = n_rows(batch.X), min(limits().tuned_rows, rows_for_patterns(_references(batch)))
        if n > most:
            batch = batch.part(sample_rows(batch.order, most, seed))
        rbf_block = NUMBERS if fits_in_matrix(n) else None  # for more rows, RBF ridge is approximate
        title = f"weighing columns, at most {MAX_CANDIDATES} tries"
        with progress(title, MAX_CANDIDATES, self.verbose) as advance:
            references, blocks = _references(batch), encoder.blocks(batch.X)
            search = ColumnSearch(
                blocks, references, self.criterion, rbf_block, lambda *_: advance(), self.n_jobs
            )
            return search.run()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags


def _at(values: Any, rows: IntArray) -> Any:
    """Return the values at some positions; None for None."""
    if values is None:
        return None
    values = values.tolist() if hasattr(values, "tolist") else list(values)
    return [values[row] for row in rows.tolist()]


def _references(batch: Batch) -> References:
    return References(batch.X, batch.Y, batch.weights, groups=batch.groups, unknown=batch.unknown)


def _weighted_similarity(encoder: TableEncoder, found: ColumnWeights) -> Similarity:
    """Set the weights of the encoder, and return the similarity of encoded rows."""
    encoder.weights = dict(found.weights)
    if found.gamma is None:
        return Linear()
    weight = found.weights[NUMBERS]
    encoder.weights[NUMBERS] = linear = STRAIGHT_SHARE * weight
    rbf = OnColumns(RBF(found.gamma / linear), encoder.numeric_slots)
    return Sum(Linear(), Scaled(rbf, weight))
