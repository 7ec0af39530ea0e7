"""
From one query to a cluster
===========================

The same sum, however it is computed: one query, many, rows on a disk, workers of a Dask cluster. The
answers are the same.
"""

# %%
# A model on this machine. ``plan`` says how a call will be computed, and what it will cost.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from simlabel import SMLClassifier
from simlabel.datasets import open_rows
from simlabel.similarities import RBF

rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 20)).astype(np.float32)
Y = (X[:, :4] > 0.5).astype(int)
queries = rng.normal(size=(500, 20)).astype(np.float32)
model = SMLClassifier(RBF(4.0)).fit(X, Y)
here = model.label_weights(queries)
print(model.plan(queries[:1]))
print(model.plan(queries))

# %%
# Rows on a disk: read block by block, never as a whole.
with tempfile.TemporaryDirectory() as folder:
    for part in range(4):
        np.save(Path(folder) / f"part-{part}.npy", X[part * 5000 : (part + 1) * 5000])
    disk = SMLClassifier(RBF(4.0)).fit(open_rows(folder), Y)
    from_disk = disk.label_weights(queries)
    print("from the disk the same:", np.allclose(here, from_disk, rtol=1e-5))

# %%
# Two workers of a Dask cluster, here on this machine. A fitted model moves in one line; with the address of
# a scheduler it would be many machines.
from dask.distributed import Client, LocalCluster

from simlabel.sums.dask import DaskEngine

with (
    LocalCluster(2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
    Client(cluster) as client,
):
    model.set_engine(DaskEngine(client))
    there = model.label_weights(queries)
    print(model.plan(queries))
print("from the cluster the same:", np.allclose(here, there, rtol=1e-5))

# %%
# Where the rows go: partial sums of shards are joined by fours, until one is left.
shards, level, y = np.arange(16), 0, np.arange(16.0)
plt.figure(figsize=(7, 3.4), layout="constrained")
while True:
    plt.scatter(np.full(len(y), level), y, s=140, color="#2a78b5", zorder=2)
    if len(y) == 1:
        break
    joined = y.reshape(-1, 4).mean(axis=1)
    for i, at in enumerate(y):
        plt.plot([level, level + 1], [at, joined[i // 4]], color="0.7", zorder=1)
    y, level = joined, level + 1
plt.xticks(
    [0, 1, 2], ["partial sums,\nwhere the rows are", "joined by fours\non workers", "the answer,\nhere"]
)
plt.yticks([])
plt.margins(0.12)
for side in ("top", "right", "left", "bottom"):
    plt.gca().spines[side].set_visible(False)
plt.show()
