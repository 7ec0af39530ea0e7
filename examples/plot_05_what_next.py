"""
What to label next
==================

Labels cost time. ``suggest`` picks rows of which the model is uncertain, and that are not all alike. It
pays where the pool is lopsided, as pools mostly are: many rows of a few kinds, and a few of many. Where all
rows are equally telling it saves nothing; both are in the `figures <../results/labels_saved.html>`_.
"""

# %%
# A made pool: two kinds of rows are 85% of it, ten kinds share the rest. Rows that it is judged by have all
# kinds alike.
from functools import partial

import matplotlib.pyplot as plt
import numpy as np

from simlabel import SMLClassifier
from simlabel.metrics import average_precision
from simlabel.similarities import RBF

rng = np.random.default_rng(4)
centers = rng.normal(size=(12, 10)) * 2.0
has = np.array(
    [[kind % 2, kind % 3 == 0, kind % 5 > 2, kind > 6, kind % 4 == 1, 1] for kind in range(12)], dtype=int
)


def drawn(n, shares):
    """Rows of kinds with given shares, and their labels, of which 3% are not those of the kind."""
    kinds = rng.choice(12, n, p=shares)
    turned = rng.random((n, 6)) < 0.03
    return rng.normal(centers[kinds], 1.0), np.where(turned, 1 - has[kinds], has[kinds])


lopsided = np.array([0.45, 0.4] + [0.015] * 10)
X, Y = drawn(440, lopsided)
X_test, Y_test = drawn(400, np.full(12, 1 / 12))


def curve(pick):
    """Average precision on the test rows after each batch of ten labels."""
    model = SMLClassifier(RBF(0.1), normalizer=None, influence="ridge").fit(X[:20], Y[:20])
    waiting, found = np.arange(20, 440), []
    for _ in range(10):
        found.append(average_precision(Y_test, model.decision_function(X_test)))
        chosen = np.asarray(pick(model, waiting))
        model.partial_fit(X[waiting[chosen]], Y[waiting[chosen]])
        waiting = np.delete(waiting, chosen)
    return found


# %%
# By suggestion, and at random (five times).
def at_random(drawing, model, waiting):
    """Ten of those that wait."""
    return drawing.choice(len(waiting), 10, replace=False)


suggested = curve(lambda model, waiting: model.suggest(X[waiting], n=10))
random = []
for seed in range(5):
    drawing = np.random.default_rng(seed)
    random.append(curve(partial(at_random, drawing)))
print(f"after 110 labels: {suggested[-1]:.3f} suggested, {np.mean(random, axis=0)[-1]:.3f} random")

# %%
labels = 20 + 10 * np.arange(10)
plt.figure(figsize=(6, 3.4), layout="constrained")
plt.plot(labels, suggested, color="#2a78b5", marker="o", label="suggested")
for one in random:
    plt.plot(labels, one, color="0.75", zorder=0)
plt.plot(labels, np.mean(random, axis=0), color="0.45", linestyle="--", label="drawn at random")
plt.xlabel("labeled rows")
plt.ylabel("average precision")
plt.legend(frameon=False)
plt.show()
