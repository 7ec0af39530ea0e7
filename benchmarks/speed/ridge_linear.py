"""Learned influence on texts by cosine: exact by iteration, beside sums over inducing rows."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from _shared.report import Part
from _shared.timing import Scale, peak_mib, seconds

from simlabel import SMLClassifier
from simlabel.ridge import Ridge

_SETUP = """
from speed.ridge_linear import fitted, texts
X, Y = texts({n}, {p}, {k})
"""


def texts(n: int, p: int, k: int) -> tuple[sp.csr_array, sp.csr_array]:
    """Unit rows of about 200 words, Zipf distributed, of which a third belong to a label of the text."""
    rng = np.random.default_rng(0)
    labels = np.minimum(rng.zipf(1.5, (n, 2)) - 1, k - 1)
    words = rng.integers(0, p, (k, 300))
    common = (p ** rng.random((n, 140))).astype(np.int64) - 1  # one in rank
    own = words[labels[:, rng.integers(0, 2, 70)], rng.integers(0, 300, (n, 70))]
    columns = np.hstack([common, own])
    X = sp.csr_array((np.ones(columns.size), (np.repeat(np.arange(n), 210), columns.ravel())), shape=(n, p))
    rarity = np.log((1 + n) / (1 + np.bincount(X.indices, minlength=p))) + 1
    X.data = (1 + np.log(X.data)) * rarity[X.indices]
    X.data /= np.repeat(np.sqrt(X.power(2).sum(axis=1)), np.diff(X.indptr))
    Y = sp.csr_array((np.ones(2 * n, dtype=np.int64), (np.repeat(np.arange(n), 2), labels.ravel())), (n, k))
    Y.data[:] = 1
    return X, Y


def fitted(X: sp.csr_array, Y: sp.csr_array, inducing: int | None) -> SMLClassifier:
    """Unit rows as they are; the penalty is given, so that nothing is searched for."""
    influence = Ridge(0.3, inducing=inducing)
    return SMLClassifier("cosine", normalizer=None, influence=influence, random_state=0).fit(X, Y)


def run(scale: Scale) -> Part:
    n, p, k = scale.rows(29_824), scale.rows(300_000), scale.rows(630)
    X, Y = texts(n, p, k)
    intro = f"{n:,} texts, {p:,} words, {k:,} labels, penalty 0.3, leave-one-out scores with it."
    part = Part("Learned influence on texts", ("what", "seconds to fit", "peak MiB", "left over"), intro)
    for title, inducing in (("all references", None), ("2,048 inducing rows", min(2048, n // 2))):
        models: list[SMLClassifier] = []
        took = seconds(lambda inducing=inducing, models=models: models.append(fitted(X, Y, inducing)))
        peak = peak_mib(_SETUP.format(n=n, p=p, k=k), f"fitted(X, Y, {inducing})")
        residual = models[0]._model.scorer.solved.residual
        part.row(title, f"{took:.1f}", f"{peak:.0f}", "" if residual is None else f"{residual:.1e}")
    return part
