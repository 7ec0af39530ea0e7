"""
A fair comparison
=================

Several data sets, the same folds for everyone, each rival as its own users would take it, and a test that
says how much the mean ranks prove.
"""

# %%
# Six made sets: three whose labels depend on single columns, as trees like it, and three whose labels
# depend on where a row lies among all others.
import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from simlabel.datasets import Dataset
from simlabel.experiments import KFolds, compare


def made(seed):
    """150 rows of 8 columns, 5 labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 8))
    if seed < 3:
        Y = X[:, :5] + 0.4 * rng.normal(size=(150, 5)) > 0.4
    else:
        centers = rng.normal(size=(5, 8))
        distance = ((X[:, None] - centers) ** 2).sum(axis=2) + 2.0 * rng.normal(size=(150, 5))
        Y = distance < np.quantile(distance, 0.35, axis=0)
    name = f"{'columns' if seed < 3 else 'places'} {seed % 3 + 1}"
    columns = tuple(f"x{i}" for i in range(8))
    return Dataset(name, X, sp.csr_array(Y.astype(np.int8)), tuple("abcde"), columns)


sets = [made(seed) for seed in range(6)]

# %%
# The same stratified folds for all. With ``folder=`` each finished fold would be kept, and a run that was
# stopped would go on.
algorithms = ["sml", "mlknn", "knn", "rf"]
result = compare(sets, algorithms, KFolds(3, stratified=True))
means = result.means("average_precision")
print(means.round(3))

# %%
# Mean ranks, Friedman's test, and Nemenyi's critical difference: algorithms that are nearer than that
# cannot be told apart by so few sets. That is often the honest answer.
ranking = result.ranking(["average_precision"])
print(ranking)

# %%
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
for i, row in enumerate(means.to_numpy()):
    axes.plot(row, np.full(len(row), i), color="0.85", zorder=0)
for column, color in zip(means.columns, ("#2a78b5", "#d1662b", "#5b9a4d", "#8465a8"), strict=True):
    axes.scatter(means[column], np.arange(len(means)), s=60, color=color, label=column)
axes.set_yticks(range(len(means)), means.index)
axes.invert_yaxis()
axes.set_xlabel("average precision, mean of three folds")
axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()
