"""Ridge on inner products of many columns and up to 32,768 rows, where labels are many: by one factor.

A factor of the similarities of all rows takes as long for one label as for a thousand; in single precision
it is nearly exact, and what is left over is solved for by iteration. Its inverse has what each row, or each
group, is worth to itself: leave-one-out scores in closed form.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from simlabel._utils.kernels import sparse_times_dense
from simlabel._utils.limits import limits
from simlabel._utils.rows import Codes, blocks
from simlabel._utils.validation import FloatArray, IntArray
from simlabel.ridge._closed_form import left_out_scores
from simlabel.ridge._conjugate import Apart, RidgeSystem
from simlabel.ridge._groups import Positions, Within, scores_without_groups
from simlabel.ridge._products import Block, SimilarityProducts
from simlabel.ridge._tiles import Tiles
from simlabel.sums import run_tasks

_DIGITS = 0.2  # of the penalty: what single precision may take off the smallest eigenvalues
_WORTH = 3e6  # n^2 over the number of labels: below it a factor is quicker than iterations
_POWERS = 8  # to see how large the largest eigenvalue is, nearly


def worth_a_factor(n: int, width: int) -> bool:
    """Whether a factor of n rows fits, and takes less time than to iterate for so many columns."""
    return 2 * n**2 <= limits().factor_bytes and n**2 <= _WORTH * width


class FactoredSystem(RidgeSystem):
    """s Z Z' s + penalty, of which a factor in single precision is there."""

    begins_near = False  # it takes a few steps from anywhere

    def __init__(self, products: SimilarityProducts, weights: FloatArray, penalty: float) -> None:
        self.products, self.penalty = products, penalty
        self.scale = np.sqrt(weights)[:, None]
        self.tiles = similarity_tiles(products, self.scale.ravel(), penalty)
        self.tiles.factor()

    def precondition(self, R: Block, at: IntArray) -> Block:
        """Nearly the solution for R."""
        return self.tiles.solve(R)

    def search(self) -> Apart:
        """How steps are taken: they are few, whatever the column."""
        return Apart(self)


def exact_enough(products: SimilarityProducts, weights: FloatArray, penalty: float, seed: int) -> bool:
    """Whether single precision can tell the smallest eigenvalues from 0."""
    scale = np.sqrt(weights)[:, None]
    x = np.random.default_rng(seed).standard_normal((products.shape[0], 4))
    largest = 0.0
    for _ in range(_POWERS):
        x /= np.linalg.norm(x, axis=0)
        x = scale * products(scale * x)
        largest = float(np.linalg.norm(x, axis=0).max())
    return bool(np.finfo(np.float32).eps * largest <= _DIGITS * penalty)


def similarity_tiles(products: SimilarityProducts, scale: FloatArray, penalty: float) -> Tiles:
    """s Z Z' s + penalty, lower half."""
    n = products.shape[0]
    tiles = Tiles(n, products.threads)
    rows = sp.csr_array(sp.diags_array(scale) @ products.rows)
    rows.data = rows.data.astype(np.float32)
    own = penalty + (0.0 if products.own is None else products.own.ravel() * scale**2)
    width = max(16, limits().block_bytes // (4 * rows.shape[1]))

    def fill(part: slice, stopped: Callable[[], bool]) -> None:
        below, dense = rows[part.start :], np.zeros((rows.shape[1], width), dtype=np.float32)
        for some in blocks(part.stop - part.start, width):
            if stopped():
                return
            columns = slice(part.start + some.start, part.start + some.stop)
            few = rows[columns].tocoo()
            dense[few.col, few.row] = few.data
            out = np.empty((n - part.start, width), dtype=np.float32)
            sparse_times_dense(below.indptr, below.indices, below.data, dense, out)
            dense[few.col] = 0.0
            tiles.put(slice(part.start, n), columns, out[:, : columns.stop - columns.start])

    run_tasks(fill, tiles.parts, products.threads)
    tiles.add_to_diagonal(np.broadcast_to(own, n))
    return tiles


def scores_left_out(
    system: FactoredSystem,
    unit: float,
    AY1: FloatArray,
    targets: FloatArray,
    weights: FloatArray,
    penalty: float,
    groups: Codes | None,
) -> tuple[FloatArray, Within]:
    """Scores of all rows, each or its group left out, (n, width), from the solutions for targets and ones.

    And what gives the parts of the inverse that belong to rows, or to groups.

    Parameters
    ----------
    system : FactoredSystem
        Its factor is inverted in place: it solves nothing any more.
    unit : float
        By which the rows were divided.
    """
    tiles, scale = system.tiles, system.scale.ravel() / unit
    tiles.invert()
    if groups is None:
        diagonal = tiles.diagonal() * scale**2
        scores = left_out_scores(AY1, diagonal, targets, weights, penalty)
        return scores, lambda rows: diagonal[rows][:, :, None]

    def within(rows: Positions) -> FloatArray:
        return np.asarray(tiles.within(rows) * scale[rows][:, :, None] * scale[rows][:, None, :])

    return scores_without_groups(within, AY1, targets, weights, groups), within
