"""How good a model is, by what the others say of every labelled instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simlabel.metrics import average_precision

if TYPE_CHECKING:
    import pandas as pd

_BINS = 10


@dataclass(frozen=True)
class LeftOutQuality:
    """Leave-one-out figures of a model whose labels are given from a probability of a half on.

    Attributes
    ----------
    rows, labels : int
        How many instances were left out, and how many labels some of them have.
    f1_micro, f1_macro : float
        F1 over all pairs of instance and label, and its mean over the labels that some instance has.
    average_precision : float or None
        Over the instances that have some of the labels and not all; None where there is none.
    by_label : dict of label to float
        F1 of each label.
    calibration : list of dict
        For each tenth of probability that was met: what was ``said`` on average, which share was ``true``,
        and of how many pairs, ``n``.
    """

    rows: int
    labels: int
    f1_micro: float
    f1_macro: float
    average_precision: float | None
    by_label: dict[Any, float]
    calibration: list[dict[str, float]]


def left_out_quality(suspects: pd.DataFrame) -> LeftOutQuality:
    """Figures from what `suspicious_labels` says of every label of every instance (``top=None``).

    Labels that are unknown count in none of them.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X = [[i / 100, 1.0] for i in range(20)] + [[1.0, i / 100] for i in range(20)]
    >>> model = SMLClassifier().fit(X, [{"sea"}] * 20 + [{"trees"}] * 20)
    >>> left_out_quality(model.suspicious_labels(top=None)).by_label
    {'sea': 1.0, 'trees': 1.0}
    """
    wide = suspects.pivot(index="id", columns="label", values=["given", "probability"])
    known, given = wide["given"].notna().to_numpy(), (wide["given"] == True).to_numpy()  # noqa: E712
    probable = wide["probability"].fillna(0.0).to_numpy(dtype=float)
    names, said = wide["given"].columns.tolist(), probable >= 0.5
    right, told, true = (given & said).sum(axis=0), said.sum(axis=0), given.sum(axis=0)
    f1 = 2 * right / np.maximum(told + true, 1)
    used, some = true > 0, given.any(axis=1) & (known & ~given).any(axis=1)
    truth = np.where(known, given, np.nan)
    cells = np.where(known, np.minimum((probable * _BINS).astype(int), _BINS - 1), -1)
    met = [cells == cell for cell in range(_BINS) if (cells == cell).any()]
    return LeftOutQuality(
        rows=len(wide),
        labels=int(used.sum()),
        f1_micro=float(2 * right.sum() / max(1, told.sum() + true.sum())),
        f1_macro=float(f1[used].mean()) if used.any() else 0.0,
        average_precision=float(average_precision(truth[some], probable[some])) if some.any() else None,
        by_label=dict(zip(names, f1.tolist(), strict=True)),
        calibration=[
            {"said": float(probable[at].mean()), "true": float(given[at].mean()), "n": int(at.sum())}
            for at in met
        ],
    )
