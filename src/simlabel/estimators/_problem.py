"""From the arguments of fit to the problem that is tuned: checked rows, normalizer, drawn references."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from simlabel._utils.limits import limits
from simlabel._utils.rows import (
    LazyRows,
    as_rows,
    check_lazy,
    is_collection,
    is_lazy,
    is_remote,
    n_copies,
    sample_rows,
    transformed,
)
from simlabel._utils.validation import AnyArray, Rows, check_features, collect_lazy
from simlabel.labels import refuse_unknown
from simlabel.model import Batch
from simlabel.normalizers import Normalizer, fit_normalizer, resolve_normalizer
from simlabel.ridge import Problem, Stages
from simlabel.similarities import Similarity
from simlabel.sums import References, Sampled, draw, resolve_sampler
from simlabel.tables import Cells, TableEncoder, table_cells
from simlabel.tuning import LeaveOneOut, Search, best_of, criterion_of

# candidates of normalizer="auto", the paper's first: the first of equals is chosen
_NORMALIZERS: tuple[str | list[str], ...] = (
    "l2",
    "zscore",
    "minmax",
    "quantile",
    ["zscore", "l2"],
    ["minmax", "l2"],
    ["quantile", "l2"],
)
_FEWEST_MIXED = 100  # rows: with fewer, log-odds are mostly chance


class GivenRows(NamedTuple):
    """Labeled rows as they were passed to `fit` or `partial_fit`."""

    X: Any
    y: Any
    sample_weight: Any = None
    ids: Any = None
    groups: Any = None


def dask_module() -> ModuleType:
    """Import the module that computes with Dask, which is optional."""
    from simlabel.sums import dask

    return dask


def fetch_labels(y: Any, engine: Any) -> Any:
    """Return labels in memory; fetch the labels of a Dask collection."""
    return dask_module().gather_labels(y, getattr(engine, "client", None)) if is_collection(y) else y


def check_rows(estimator: BaseEstimator, X: Any, engine: Any, *, reset: bool) -> Rows:
    """Check rows of features; set their number and names on the estimator, or compare them."""
    named = X = collect_lazy(X)
    if is_collection(X):
        named = getattr(X, "_meta", X) if hasattr(X, "columns") else X
        X = dask_module().remote_rows(X, getattr(engine, "client", None))
    else:
        X = as_rows(X)
    if not isinstance(X, LazyRows):
        return check_features(estimator, X, reset=reset)
    validate_data(estimator, named, reset=reset, skip_check_array=True)  # names and number of features
    return check_lazy(X)


def check_table(X: Any) -> Cells:
    """Read the cells of a table with at least one row."""
    if is_collection(X) or is_lazy(X):
        raise TypeError("An encoder reads tables in memory: pass a frame, or parts of one after another.")
    cells = table_cells(X)
    if not cells.rows:
        raise ValueError("Found array with 0 sample(s): the table has no rows; at least one is required.")
    return cells


def row_bytes(X: Rows) -> Iterator[bytes]:
    """Return bytes that identify each row in memory, independent of its precision."""
    if is_lazy(X):
        return
    if sp.issparse(X):
        rows: Any = sp.csr_array(X, dtype=np.float32)
        for start, stop in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
            yield rows.indices[start:stop].astype(np.int64).tobytes() + rows.data[start:stop].tobytes()
    elif isinstance(X, np.ndarray):
        yield from (row.tobytes() for row in np.ascontiguousarray(X, dtype=np.float32))
    else:
        yield from (repr(row).encode() for row in X)


def draw_seed(random_state: Any) -> int:
    """Draw a seed from a random state, as scikit-learn understands it."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def make_problem(
    batch: Batch,
    normalizer: Any,
    stages: Stages,
    names: AnyArray | None,
    encoder: TableEncoder | None = None,
) -> tuple[Normalizer | None, Problem]:
    """Fit the normalizer and the similarity on the rows of a batch.

    Parameters
    ----------
    normalizer : as in `SMLClassifier`
        Ignored for rows without features: objects, or a precomputed matrix.
    stages : Stages
        With unresolved "auto" parameters.
    names : array of str or None
        Names of the features.
    encoder : TableEncoder or None
        Fitted, for rows of a table.
    """
    if getattr(stages.influence, "mixing", None) is True and batch.labels.kind == "single":
        raise ValueError(
            "Ridge(mixing=True) computes log-odds of the labels of a set, but y has one class for each row: "
            "use Ridge(mixing=False)."
        )
    X, raw = batch.X, None
    if encoder is not None:
        X, raw, names = encoder.encode(X), X, None
    pairwise = stages.similarity.form == "precomputed"
    weights = batch.weights if (batch.weights != 1.0).any() else None
    unfitted = None if pairwise or not hasattr(X, "shape") else resolve_normalizer(normalizer)
    Y, unknown = batch.imputed
    if unfitted is not None and unfitted.learns_labels:
        refuse_unknown(unknown, "a normalizer that learns from labels needs all of them")
    fitted = fit_normalizer(unfitted, X, weights, Y)
    if fitted is not None:
        raw = X if raw is None and fitted.learns else raw
        X = transformed(fitted, X)
    stages = replace(stages, similarity=stages.similarity.fit(X, names, weights))
    companions = batch.ids, raw, batch.groups, batch.unknown
    return fitted, Problem(stages, References(X, batch.Y, batch.weights, *companions, pairwise=pairwise))


def can_be_mixed(batch: Batch, unlabeled: Any) -> bool:
    """Whether learned scores can become log-odds (`Ridge.mixing`): for label sets without unknown labels."""
    known = batch.is_complete and unlabeled is None and batch.labels.kind != "single"
    return known and n_copies(batch.weights) >= _FEWEST_MIXED


def sample_references(problem: Problem, sampler: Any) -> tuple[Problem, Sampled | None]:
    """Return the problem on the references that are drawn, or the engine that draws for each query."""
    if sampler is None:
        return problem, None
    sampler, stages, references = resolve_sampler(sampler), problem.stages, problem.references
    if stages.similarity.form == "precomputed":
        raise ValueError("sampler: a precomputed matrix has no references to draw: pass fewer rows to fit.")
    if stages.weighting is not None and stages.weighting.scope == "row":
        raise ValueError(
            f"sampler: {stages.weighting!r} depends on whole rows, so its sums cannot be estimated from a "
            f"sample."
        )
    p = sampler.probabilities(references.X, references.imputed_Y)
    if sampler.per_query:
        return problem, Sampled(p, sampler.n, stages.seed, order=references.order)
    rows, scales = draw(p, sampler.n, np.random.default_rng(stages.seed), references.order)
    removed = np.setdiff1d(np.arange(references.n_rows), rows)
    references = references.without(removed) if len(removed) else references
    # learned influence is solved for the drawn rows as they are
    stages = stages if stages.influence.learned else replace(stages, scales=scales)
    return Problem(stages, references), None


def choose_normalizer(
    batch: Batch,
    stages: Stages,
    names: AnyArray | None,
    encoder: TableEncoder | None,
    search: Search,
) -> tuple[Any, str]:
    """Choose a normalizer by leave-one-out, and return it with a note on how it compares.

    Candidates are unit length, z-score, min-max, quantile and chains of them. Each is fitted on at most 1,500
    rows, with the "auto" parameters of the stages resolved for it by the criterion of the search.
    """
    if is_remote(batch.X):
        raise ValueError(
            "normalizer='auto' compares rows in memory, but X is on a cluster: name a normalizer."
        )
    if len(batch.weights) > limits().normalizer_rows:
        batch = batch.part(sample_rows(batch.order, limits().normalizer_rows, stages.seed))
    references = make_problem(batch, None, stages, names, encoder)[1].references
    X, similarity = references.X, stages.similarity
    if similarity.form == "precomputed" or not hasattr(X, "shape"):
        return None, ""  # there is nothing to normalize
    specs = [spec for spec in _NORMALIZERS if _suits(spec, references, similarity)]
    loo = LeaveOneOut(criterion=search.criterion)
    problems = (make_problem(batch, spec, stages, names, encoder)[1] for spec in specs)
    values = [loo.run(problem, always=True).curve.best_value for problem in problems]
    best = specs[best_of(values, criterion_of(search.criterion).higher_is_better) or 0]
    compared = zip(map(shown_normalizer, specs), values, strict=True)
    shown = ", ".join(f"{name} {value:.4f}" for name, value in compared)
    n = len(batch.weights)
    return best, f"normalizer {shown_normalizer(best)} by leave-one-out on {n:,} rows ({shown})"


def _suits(spec: str | list[str], references: References, similarity: Similarity) -> bool:
    """Whether a normalizer is defined for the rows, and gives what the similarity is defined for."""
    if "quantile" in spec and (sp.issparse(references.X) or isinstance(references.X, LazyRows)):
        return False
    normalizer = resolve_normalizer(spec)
    assert normalizer is not None
    return not similarity.nonnegative_input or normalizer.keeps_nonnegative(references.nonnegative)


def shown_normalizer(spec: Any) -> Any:
    """Return a list of names as one name; anything else as it is."""
    return "+".join(spec) if isinstance(spec, list) else spec
