"""What a user is warned of when a model answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.advice import DataWarning, PredictionWarning, advise
from simlabel._utils.text import some_names
from simlabel._utils.validation import Rows
from simlabel.labels import LabelSpace
from simlabel.model import Model
from simlabel.model.inspection import row_keys

_ENOUGH = 100  # queries: fewer may well be alike
_NEARLY_ALL, _USUAL = 0.98, 0.5  # of the answers, and of the labelled rows, that are one set
_LITTLE = 0.1  # of what labels vary: probabilities that vary less do not depend on the query


def advise_on_sets(model: Model, X: Rows, sets: sp.csr_array) -> None:
    """Warn where nearly all queries get the same labels though what is asked should matter.

    That all queries are alike is no reason: only where probabilities are those of the labels' frequencies,
    whatever is asked, or all similarities are 0, the model tells nothing apart.

    Parameters
    ----------
    X : rows
        Checked queries.
    sets : csr_array, (n_queries, n_labels)
        What they got.
    """
    if sets.shape[0] < _ENOUGH:
        return
    codes = np.random.default_rng(0).integers(2**62, size=sets.shape[1])
    keys, counts = np.unique(_set_keys(sets, codes), return_counts=True)
    top = int(np.argmax(counts))
    references = model.scorer.references
    if counts[top] < _NEARLY_ALL * sets.shape[0]:
        return
    same = _set_keys(references.settled_Y, codes) == keys[top]
    share = float(references.weights[same].sum() / references.weights.sum())
    if share > _USUAL or not _tells_nothing(model, X[:_ENOUGH]):
        return
    classes = model.labels.classes.tolist()
    names = [repr(classes[k]) for k in sorted(_row_with(sets, codes, keys[top]))]
    learned = model.scorer.stages.influence.learned
    way = "normalizer='zscore'" if learned else "normalizer='zscore', influence='ridge'"
    advise(
        f"nearly all rows get the same answer, {some_names(names) or 'no label'}, which {share:.0%} of the "
        f"labelled rows have: the model hardly tells them apart. Try {way} or AutoSMLClassifier().",
        PredictionWarning,
    )


def _set_keys(Y: sp.csr_array, codes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """A number for each label set, whatever the order of its labels."""
    return np.asarray(sp.csr_array((np.ones(Y.nnz, np.int64), Y.indices, Y.indptr), Y.shape) @ codes)


def _row_with(sets: sp.csr_array, codes: npt.NDArray[np.int64], key: np.int64) -> npt.NDArray[np.integer]:
    row = int(np.argmax(_set_keys(sets, codes) == key))
    return sets.indices[sets.indptr[row] : sets.indptr[row + 1]]


def _tells_nothing(model: Model, X: Rows) -> bool:
    """Whether different queries have the probabilities that labels have without any, or no weight at all."""
    in_memory = isinstance(X, np.ndarray) or sp.issparse(X)
    if in_memory and len(np.unique(row_keys(X))) < _ENOUGH // 2:
        return False
    outputs, references = model.outputs(X), model.scorer.references
    if not outputs.weights.any():
        return True
    usual = references.settled_Y.T @ references.weights / references.weights.sum()
    told = float(np.abs(outputs.probabilities - usual).mean())
    return told <= _LITTLE * float((2.0 * usual * (1.0 - usual)).mean())


def advise_on_unknown(labels: LabelSpace, y: Any, n_rows: int) -> None:
    """Warn of labels that some rows on which a model is judged have, and the model does not know."""
    known = set(labels.classes.tolist())
    names = [repr(name) for name in labels.read(y)[0].classes.tolist() if name not in known]
    advise(
        f"{n_rows:,} of the rows have labels that the model does not know, and count as wrong: "
        f"{some_names(names)}. Teach them with partial_fit, or correct their spelling.",
        DataWarning,
    )
