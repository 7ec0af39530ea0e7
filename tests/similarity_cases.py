"""Every similarity beside its plain-loop meaning, derived from the registry where it can be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import naive
from simlabel.similarities import (
    RBF,
    SIMILARITIES,
    ChiSquare,
    Cosine,
    Function,
    Jaccard,
    Laplacian,
    Linear,
    OnColumns,
    Polynomial,
    Quadratic,
)
from simlabel.sums._weightings import WEIGHTINGS, CustomWeighting, Cutoff, Power, TopK


@dataclass(frozen=True)
class Case:
    similarity: Any
    phi: Any = field(compare=False)
    name: str = ""

    def __str__(self):
        return self.name or repr(self.similarity)


@dataclass(frozen=True)
class Weighted:
    name: str
    weighting: Any
    psi: Any

    def __str__(self):
        return self.name


def _columns(phi, columns, normalize=lambda row: row):
    return lambda x, z: phi(normalize([x[c] for c in columns]), normalize([z[c] for c in columns]))


def _sum_of_minima(A, B):
    import numpy as np

    return np.minimum(A[:, None, :], B[None, :, :]).sum(axis=2)


SIMILARITY_CASES = [
    Case(RBF(gamma=0.7), naive.rbf(0.7)),
    Case(RBF(gamma=5.0), naive.rbf(5.0)),
    Case(Laplacian(gamma=0.4), naive.laplacian(0.4)),
    Case(Polynomial(degree=3, coef0=0.5), naive.polynomial(3, 0.5)),
    Case(Polynomial(degree=8, coef0=0.0), naive.polynomial(8, 0.0)),
    Case(Linear(), naive.dot),
    Case(Quadratic(), naive.polynomial(2, 1.0)),
    Case(Cosine(), naive.cosine),
    Case(ChiSquare(gamma=0.6), naive.chi_square(0.6)),
    Case(Jaccard(), naive.jaccard),
    Case(Jaccard(weighted=False), naive.jaccard_of_sets),
    Case(Function(naive.rbf(0.7)), naive.rbf(0.7), "Function(pairs)"),
    Case(
        Function(_sum_of_minima, blockwise=True),
        lambda x, z: sum(min(a, b) for a, b in zip(x, z, strict=True)),
        "Function(blocks)",
    ),
    Case(RBF(gamma=0.7) + Linear(), lambda x, z: naive.rbf(0.7)(x, z) + naive.dot(x, z)),
    Case(3 * RBF(gamma=0.7), lambda x, z: 3 * naive.rbf(0.7)(x, z)),
    Case(0.5 * Quadratic(), lambda x, z: 0.5 * naive.polynomial(2, 1.0)(x, z)),
    Case(2 * (0.5 * Cosine()), naive.cosine),
    Case(0.8 * ChiSquare(gamma=0.6), lambda x, z: 0.8 * naive.chi_square(0.6)(x, z)),
    Case(
        0.3 * (Linear() + 2 * OnColumns(RBF(gamma=2.0), [0, 2])),
        lambda x, z: 0.3 * (naive.dot(x, z) + 2 * _columns(naive.rbf(2.0), [0, 2])(x, z)),
        "Scaled",
    ),
    Case(RBF(gamma=0.7) * Cosine(), lambda x, z: naive.rbf(0.7)(x, z) * naive.cosine(x, z)),
    Case(
        OnColumns(RBF(gamma=2.0), [0, 2], "l2") + OnColumns(Laplacian(gamma=0.3), [-1, 1]) * Linear(),
        lambda x, z: (
            _columns(naive.rbf(2.0), [0, 2], naive.unit_length)(x, z)
            + _columns(naive.laplacian(0.3), [-1, 1])(x, z) * naive.dot(x, z)
        ),
        "OnColumns",
    ),
]

WEIGHTING_CASES = [
    Weighted("none", None, naive.keep_all),
    Weighted("cube", Power(exponent=3), naive.power(3)),
    Weighted("root", Power(exponent=0.5), naive.power(0.5)),
    Weighted("cutoff", Cutoff(minimum=0.3), naive.cutoff(0.3)),
    Weighted("top-3", TopK(k=3), naive.top_k(3)),
    Weighted(
        "function",
        CustomWeighting(lambda S: S * S),
        lambda s, w: [a * a * b for a, b in zip(s, w, strict=True)],
    ),
    Weighted(
        "row-function",
        CustomWeighting(lambda S: S - S.max(axis=1, keepdims=True), scope="row"),
        lambda s, w: [(a - max(s)) * b for a, b in zip(s, w, strict=True)],
    ),
]

# what is registered under a name is tested, unless it needs a matrix of its own
TESTED = {type(case.similarity) for case in SIMILARITY_CASES}
assert set(SIMILARITIES.classes.values()) - {SIMILARITIES.classes["precomputed"]} <= TESTED
assert {type(case.weighting) for case in WEIGHTING_CASES} >= set(WEIGHTINGS.classes.values())
