"""
The method in thirty lines
==========================

Everything that the paper's classifier does, in numpy, on ten points in the plane; then the same from the
library. The picture shows the sums: how much each labeled point adds to each label of the new one.
"""

# %%
# Ten labeled points with one to two labels each, and a new one.
import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(3)
X = rng.normal([0.0, 2.0], 0.7, (10, 2)) + np.outer(np.arange(10) % 2, [2.0, -2.0])
labels = ["sea", "sunset", "trees"]
Y = np.array([[1, i % 4 == 0, 0] if i % 2 == 0 else [0, i % 3 == 0, 1] for i in range(10)], dtype=int)
new = np.array([0.6, 1.4])

# %%
# The similarity: RBF, so that a point at distance 1 counts :math:`e^{-\gamma}`.
gamma = 0.8
similarity = np.exp(-gamma * ((X - new) ** 2).sum(axis=1))

# %%
# The label weights: for each label, the similarities of the points that have it, added up.
weights = similarity @ Y

# %%
# The set size: the same sum for each number of labels. The largest says how many labels the new point gets.
sizes = Y.sum(axis=1)
by_size = {int(s): similarity[sizes == s].sum() for s in np.unique(sizes)}
n_labels = max(by_size, key=by_size.get)
answer = [labels[k] for k in np.argsort(-weights, kind="stable")[:n_labels]]
print("label weights:", dict(zip(labels, weights.round(2).tolist(), strict=True)))
print("sums by size: ", {s: round(float(v), 2) for s, v in by_size.items()}, "->", answer)

# %%
# The library gives the same, for any similarity and any number of rows.
from simlabel import SMLClassifier
from simlabel.similarities import RBF

sets = [{labels[k] for k in np.flatnonzero(row)} for row in Y]
model = SMLClassifier(RBF(gamma), normalizer=None).fit(X, sets)
print(model.predict_sets([new]), np.allclose(model.label_weights([new])[0], weights))

# %%
# Where the sums come from: a bar for each label and each size, made of what each labeled point adds.
figure, (plane, bars) = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained", width_ratios=[1, 1.1])
colors = plt.colormaps["tab10"].colors
for i, point in enumerate(X):
    plane.plot(*zip(new, point, strict=True), color="0.75", linewidth=6 * similarity[i], zorder=0)
    plane.scatter(*point, color=colors[i], s=60)
    plane.annotate(", ".join(sorted(sets[i])), point, xytext=(6, 5), textcoords="offset points", fontsize=8)
plane.scatter(*new, color="black", marker="*", s=200)
plane.annotate("?", new, xytext=(8, -14), textcoords="offset points", fontweight="bold")
plane.margins(x=0.22, y=0.1)
plane.set_title("thicker lines: more similar to the new point", fontsize=10)

rows = [*labels, *(f"{s} label{'s'[: s - 1]}" for s in by_size)]
start = np.zeros(len(rows))
for i in range(len(X)):
    part = similarity[i] * np.concatenate([Y[i], [sizes[i] == s for s in by_size]])
    bars.barh(rows, part, left=start, color=colors[i], edgecolor="white")
    start += part
bars.invert_yaxis()
bars.axhline(len(labels) - 0.5, color="0.7", linewidth=0.8)
bars.set_title(f"what each point adds: {n_labels} labels, so {' and '.join(answer)}", fontsize=10)
plt.show()
