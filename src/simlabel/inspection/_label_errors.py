"""Labels that leave-one-out probabilities contradict, and the quality of these probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import expit, logit

from simlabel.metrics import average_precision
from simlabel.support.validation import FloatArray, Rows

if TYPE_CHECKING:
    import pandas as pd

Titles = Callable[[npt.NDArray[np.integer]], list[str] | None]

_N_PRIOR = 5.0  # rows of a label that count as much as the prior
_N_BINS = 10


def suspicious_labels(
    probabilities: FloatArray,
    Y: Rows,
    ids: npt.NDArray[Any],
    labels: npt.NDArray[Any],
    top: int | None = None,
    titles: Titles | None = None,
    unknown: sp.csr_array | None = None,
) -> pd.DataFrame:
    """Return the labels of all instances, the most doubtful first.

    Parameters
    ----------
    probabilities : array, (n_rows, n_labels)
        Leave-one-out probabilities of each label.
    Y : 0/1 array or sparse, (n_rows, n_labels)
        Given labels.
    ids, labels : array
        Names of the rows and of the labels.
    top : int, optional
        How many to list; all by default.
    titles : callable, optional
        ``titles(positions)`` returns the titles of rows.
    unknown : sparse of ones, (n_rows, n_labels), optional
        Entries that are unknown, and are not listed.

    Returns
    -------
    frame
        ``id``, with titles ``title``, ``label``, ``given`` (whether the instance has the label),
        ``probability``, and ``suspicion``, 0 to 1: how strong the evidence is that this is an error.
        0.5 without evidence.

    Notes
    -----
    A label of few rows gets a low probability almost everywhere, also where it is right. So the log-odds
    of the probability are weighted by m / (m + 5), where m is the number of other rows that have the label
    (or that do not have it, if these are fewer). The remaining weight is that of the prior: even odds for a
    label that was given, the label's base rate for one that was not.

    Examples
    --------
    >>> Y = np.array([[1, 1], [1, 0], [1, 0], [0, 0], [0, 0], [0, 0]])  # only row "a" has "rare"
    >>> P = np.array([[0.1, 0.1], [0.9, 0.1], [0.9, 0.1], [0.1, 0.1], [0.1, 0.1], [0.1, 0.1]])
    >>> doubtful = suspicious_labels(P, Y, np.array([*"abcdef"]), np.array(["sea", "rare"]), top=2)
    >>> print(doubtful.round(3).to_string())
      id label  given  probability  suspicion
    0  a   sea   True          0.1      0.652
    1  a  rare   True          0.1      0.500
    """
    import pandas as pd

    given = (Y.toarray() if sp.issparse(Y) else np.asarray(Y)).astype(bool)
    known = np.ones(given.shape, dtype=bool) if unknown is None else unknown.toarray() == 0
    having = (given & known).sum(axis=0) - (given & known)  # other rows with the label
    others = known.sum(axis=0) - known
    few = np.minimum(having, others - having)
    trust = few / (few + _N_PRIOR)
    tiny = np.finfo(np.float64).eps
    odds = logit(np.clip(probabilities, tiny, 1.0 - tiny))
    prior = logit((having + 0.5) / (others + 1.0))
    suspicion = expit(np.where(given, -trust * odds, prior + trust * (odds - prior)))
    order = np.argsort(np.where(known, -suspicion, np.inf), axis=None, kind="stable")
    rows, columns = np.unravel_index(order[: known.sum()][:top], known.shape)
    return pd.DataFrame(
        {
            "id": ids[rows],
            **({} if titles is None else {"title": titles(rows)}),
            "label": labels[columns],
            "given": given[rows, columns],
            "probability": probabilities[rows, columns],
            "suspicion": suspicion[rows, columns],
        }
    )


@dataclass(frozen=True)
class LeftOutQuality:
    """Leave-one-out results of a model that predicts labels with a probability of at least 0.5.

    Attributes
    ----------
    rows, labels : int
        How many instances were left out, and how many labels some of them have.
    f1_micro, f1_macro : float
        F1 over all pairs of instance and label, and its mean over the labels that some instance has.
    average_precision : float or None
        Over the instances that have some of the labels and not all; None without any.
    by_label : dict of label to float
        F1 of each label.
    calibration : list of dict
        For each tenth of the range of probabilities that occurs: the mean probability ``said``, the share of
        ``true`` pairs, and the number ``n`` of pairs.
    """

    rows: int
    labels: int
    f1_micro: float
    f1_macro: float
    average_precision: float | None
    by_label: dict[Any, float]
    calibration: list[dict[str, float]]


def left_out_quality(suspects: pd.DataFrame) -> LeftOutQuality:
    """Compute metrics from what `suspicious_labels` returns for all labels of all instances (``top=None``).

    Unknown labels count in none of them.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X = [[i / 100, 1.0] for i in range(20)] + [[1.0, i / 100] for i in range(20)]
    >>> model = SMLClassifier().fit(X, [{"sea"}] * 20 + [{"trees"}] * 20)
    >>> left_out_quality(model.suspicious_labels(top=None)).by_label
    {'sea': 1.0, 'trees': 1.0}
    """
    wide = suspects.pivot(index="id", columns="label", values=["given", "probability"])
    known, given = wide["given"].notna().to_numpy(), wide["given"].eq(True).to_numpy()
    probable = wide["probability"].fillna(0.0).to_numpy(dtype=float)
    predicted = probable >= 0.5
    n_right, n_predicted, n_true = (each.sum(axis=0) for each in (given & predicted, predicted, given))
    f1 = 2 * n_right / np.maximum(n_predicted + n_true, 1)
    some = given.any(axis=1) & (known & ~given).any(axis=1)
    bins = np.where(known, np.minimum((probable * _N_BINS).astype(int), _N_BINS - 1), -1)
    parts = [bins == i for i in np.unique(bins[known])]
    return LeftOutQuality(
        rows=len(wide),
        labels=int((n_true > 0).sum()),
        f1_micro=float(2 * n_right.sum() / max(1, n_predicted.sum() + n_true.sum())),
        f1_macro=float(f1[n_true > 0].mean()) if given.any() else 0.0,
        average_precision=float(average_precision(np.where(known, given, np.nan)[some], probable[some]))
        if some.any()
        else None,
        by_label=dict(zip(wide["given"].columns.tolist(), f1.tolist(), strict=True)),
        calibration=[
            {"said": float(probable[at].mean()), "true": float(given[at].mean()), "n": int(at.sum())}
            for at in parts
        ],
    )
