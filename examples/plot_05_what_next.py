"""
What to label next
==================

Labels cost time. ``suggest`` picks rows of which the model is uncertain, and that are not all alike.
"""

# %%
# A made problem: 40 labelled rows, 400 that wait, and rows to be judged by.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_multilabel_classification

from simlabel import SMLClassifier
from simlabel.metrics import average_precision

X, Y = make_multilabel_classification(900, 30, n_classes=8, n_labels=3, allow_unlabeled=False, random_state=4)
X = np.sqrt(X)
start, pool, test = np.arange(40), np.arange(40, 440), np.arange(440, 900)


def curve(pick):
    """Average precision after each batch of 20 labels."""
    known, waiting = start.tolist(), pool.tolist()
    found = []
    for _ in range(8):
        model = SMLClassifier("rbf", influence="ridge", random_state=0).fit(X[known], Y[known])
        found.append(average_precision(Y[test], model.decision_function(X[test])))
        chosen = [waiting[i] for i in pick(model, waiting)]
        known += chosen
        waiting = [row for row in waiting if row not in set(chosen)]
    return found


# %%
# By suggestion, and at random (three times).
suggested = curve(lambda model, waiting: np.asarray(model.suggest(X[waiting], n=20)))
random = [
    curve(lambda model, waiting, rng=np.random.default_rng(seed): rng.choice(len(waiting), 20, replace=False))
    for seed in range(3)
]
print("after 180 labels:", round(suggested[-1], 3), "suggested,", round(float(np.mean(random, axis=0)[-1]), 3), "random")

# %%
labels = 40 + 20 * np.arange(8)
plt.figure(figsize=(6, 3.4), layout="constrained")
plt.plot(labels, suggested, color="#2a78b5", marker="o", label="suggested")
for one in random:
    plt.plot(labels, one, color="0.7", zorder=0)
plt.plot([], [], color="0.7", label="drawn at random")
plt.xlabel("labelled rows")
plt.ylabel("average precision")
plt.legend(frameon=False)
plt.show()
