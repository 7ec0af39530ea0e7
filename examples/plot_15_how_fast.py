"""
How fast, and why
=================

A prediction compares every query with every labeled row, which sounds slow. It takes about as long as a
bare matrix product of the two, because what a processor waits for is memory, and here little has to come
from there.
"""

# %%
# Three ways to the same sums, on one core: the product alone, which computes nothing but inner products;
# simlabel; and the usual way, a matrix of similarities that is made, and then multiplied.
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from simlabel import SMLClassifier
from simlabel.similarities import RBF

rng = np.random.default_rng(0)
X = rng.normal(size=(12_000, 128)).astype(np.float32)
Q = rng.normal(size=(1_000, 128)).astype(np.float32)
X /= np.linalg.norm(X, axis=1, keepdims=True)
Q /= np.linalg.norm(Q, axis=1, keepdims=True)
Y = (rng.random((12_000, 14)) < 0.2).astype(np.float32)
model = SMLClassifier(RBF(2.0), normalizer=None, n_jobs=1, calibration=None).fit(X, Y)
ways = {
    "the product alone, Q @ X.T": lambda: Q @ X.T,
    "simlabel, label_weights(Q)": lambda: model.label_weights(Q),
    "rbf_kernel(Q, X) @ Y": lambda: rbf_kernel(Q, X, gamma=2.0) @ Y,
}
print(
    "the same:", np.allclose(ways["simlabel, label_weights(Q)"](), ways["rbf_kernel(Q, X) @ Y"](), rtol=1e-3)
)

# %%
# The median of five turns, one after the other. The figures are those of the machine that built this page,
# which did other things as well; those of a quiet one are in the `benchmarks <../benchmarks/README.html>`_.
taken = {name: [] for name in ways}
with threadpool_limits(1):
    for _ in range(5):
        for name, way in ways.items():
            before = process_time()
            way()
            taken[name].append(process_time() - before)
floor = np.median(taken["the product alone, Q @ X.T"])
ratios = {name: float(np.median(seconds) / floor) for name, seconds in taken.items()}
print({name: round(ratio, 2) for name, ratio in ratios.items()})

# %%
# Why: a *tile* of 144 labeled rows by 16 queries is worked on as a whole. Inner products are summed up in
# registers; the similarities that they become stay in the nearest cache, are added to the labels' sums, and
# are forgotten. The matrix of all similarities, here 48 MB, never exists, so that it never goes to memory
# and back.
figure, (levels, bars) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", width_ratios=[1.25, 1])
HIERARCHY = [
    ("registers", "the inner products of 6 rows and 16 queries", "#d1662b"),
    ("first cache, 32 KB", "a tile of similarities, 9 KB; the panel of 16 queries, 8 KB", "#b5651d"),
    ("second cache, 512 KB", "144 labeled rows, 74 KB; the sums, 14 numbers a query", "#4a7fa8"),
    ("memory", "all labeled rows, 6 MB: read in order, once for many queries", "#1f5a8a"),
]
for i, (name, what, color) in enumerate(HIERARCHY):
    width = 7.6 + 0.8 * i
    levels.barh(-i, width, left=-width / 2, height=0.9, color=color)
    levels.text(0, -i + 0.17, name, ha="center", va="center", color="white", fontweight="bold", fontsize=11)
    levels.text(0, -i - 0.2, what, ha="center", va="center", color="white", fontsize=8.5)
levels.set(xlim=(-5.1, 5.1), ylim=(-3.5, 0.5), title="what lies where (float32, 128 features)")
levels.axis("off")

names = list(ways)
bars.barh(names, [ratios[name] for name in names], color=["0.7", "#2a78b5", "#d1662b"])
for i, name in enumerate(names):
    bars.text(ratios[name], i, f" {ratios[name]:.1f}", va="center")
bars.invert_yaxis()
bars.margins(x=0.15)
bars.set_xlabel("processor time, in that of the product alone")
for side in ("top", "right"):
    bars.spines[side].set_visible(False)
plt.show()
