"""AutoSML compared with the default SML on rows that neither has seen."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from simlabel.datasets import Dataset
from simlabel.experiments import RandomSplits, compare

MARGIN = 0.05  # the gains below are 0.13 to 0.23: rounding cannot decide


def synthetic(seed, n=300):
    """Rows whose labels depend on columns of very different scales, also on a product and on a distance."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    margins = np.column_stack(
        [X[:, 0] + X[:, 1], X[:, 1] * X[:, 2], X[:, 2] - X[:, 0], np.abs(X[:, 3]) - 0.8]
    )
    Y = margins + 0.3 * rng.normal(size=margins.shape) > 0.3
    Y[~Y.any(axis=1), 0] = True
    names = tuple("abcd"), tuple("uvwxyz")
    return Dataset("synthetic", X * [1, 10, 0.1, 5, 30, 0.2], sp.csr_array(Y.astype(np.int8)), *names)


@pytest.mark.parametrize("seed", range(3))
def test_autosml_is_better_than_the_default_on_unseen_rows(seed):
    found = compare(synthetic(seed), ["sml", "autosml"], RandomSplits(0.4, seed=seed))
    assert not found.failures
    for criterion, sign in (("average_precision", 1), ("f1_micro", 1), ("ranking_loss", -1)):
        default, auto = (found.of("synthetic", name).mean(criterion) for name in ("sml", "autosml"))
        assert sign * (auto - default) > MARGIN, (criterion, default, auto)
