"""
Sets with a guarantee
=====================

Say what must hold ("nine tenths of the true labels are found"), and the sets are made as small as that
allows. It holds for good models and bad ones alike; a bad one pays with larger sets.
"""

# %%
# Rows with five labels; five columns know something of them, three are noise.
import matplotlib.pyplot as plt
import numpy as np

from simlabel import SMLClassifier
from simlabel.guarantees import Recall
from simlabel.similarities import RBF

rng = np.random.default_rng(0)


def drawn(n):
    """Rows and their labels."""
    X = rng.normal(size=(n, 8))
    noisy = X[:, :5] + 0.6 * rng.normal(size=(n, 5))
    Y = (noisy > [0.0, 0.2, 0.5, 0.8, 1.0]).astype(int)
    Y[~Y.any(axis=1), 0] = 1
    return X, Y


# %%
# What is promised, in words.
X, Y = drawn(300)
model = SMLClassifier(RBF(0.3), normalizer=None).fit(X[:, :5], Y)
print(model.guarantee(Recall(0.9)))

# %%
# Promised beside measured on new rows, and what it costs: the size of the sets. Where no useful set keeps
# the promise the answer is None: here it is counted as all labels. A promise holds on average over labeled
# rows and new ones, so these are means of eight draws of both.
levels = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95]


def kept(columns):
    """Recall and set size on new rows for each level, of models that see some columns."""
    (X, Y), (Q, truth), found = drawn(300), drawn(300), []
    model = SMLClassifier(RBF(0.3), normalizer=None).fit(X[:, columns], Y)
    for level in levels:
        sets = model.predict_sets(Q[:, columns], guarantee=Recall(level))
        given = np.ones_like(truth)
        for i, some in enumerate(sets):
            if some is not None:
                given[i] = np.isin(np.arange(5), [int(label) for label in some])
        recall = ((given * truth).sum(axis=1) / truth.sum(axis=1)).mean()
        found.append((recall, given.sum(axis=1).mean()))
    return np.array(found)


figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.plot([0.5, 1], [0.5, 1], color="0.7", linestyle="--", label="guaranteed")
for columns, name, color in (
    (slice(0, 5), "the columns that matter", "#2a78b5"),
    (slice(5, 8), "columns of noise", "#d1662b"),
):
    recall, size = np.mean([kept(columns) for _ in range(8)], axis=0).T
    left.plot(levels, recall, marker="o", color=color, label=name)
    right.plot(levels, size, marker="o", color=color, label=name)
left.set(xlabel="recall promised", ylabel="recall on new rows")
right.set(xlabel="recall promised", ylabel="labels in a set, of 5", ylim=(0, 5.2))
left.legend(frameon=False)
right.legend(frameon=False)
plt.show()
