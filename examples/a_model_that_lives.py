"""Teach a model, make it forget, ask it why, and let it find wrong labels: yeast, step by step.

Run it with ``python examples/a_model_that_lives.py [folder for the pictures]``. Yeast comes from the
folder that SIMLABEL_DATA names, or with ``pip install 'simlabel[demo]'``. Each ``# %%`` is a cell.
"""

# %% The data: 2,417 genes, 103 features, 14 functional classes
from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from rich import print
from sklearn.metrics import average_precision_score, precision_recall_curve

from simlabel import SMLClassifier, load
from simlabel.datasets import load_dataset
from simlabel.metrics import average_precision

pictures = Path(sys.argv[1] if len(sys.argv) > 1 else "pictures")
pictures.mkdir(parents=True, exist_ok=True)
data = load_dataset("yeast")
X, Y = np.asarray(data.X, dtype=np.float64), data.Y.toarray().astype(int)
names = np.array(data.label_names)
sets = [set(names[np.flatnonzero(row)].tolist()) for row in Y]
order = np.random.default_rng(0).permutation(len(X))
test, pool = order[:500], order[500:1700]
genes = [f"gene {i}" for i in range(len(X))]

# %% Teach: batches come in, and every prediction is that of a fit on all rows so far
first, later = pool[:200], np.split(pool[200:], 10)
model = SMLClassifier(normalizer=["zscore", "l2"], random_state=0)
model.fit(X[first], [sets[i] for i in first], ids=[genes[i] for i in first])


def quality() -> float:
    """Average precision on the test genes."""
    scores = model.label_weights(X[test])
    order_of = [list(names).index(name) for name in model.classes_]
    return average_precision(Y[test][:, order_of], scores)


counts, held = [model.n_references_], [quality()]
for batch in later:
    model.partial_fit(X[batch], [sets[i] for i in batch], ids=[genes[i] for i in batch])
    counts.append(model.n_references_)
    held.append(quality())
before = quality()
model.retune()  # gamma was chosen for 200 genes; now there are 1,200
print(f"taught from {counts[0]} to {counts[-1]} genes: average precision {held[0]:.3f} to {before:.3f},")
print(f"and {quality():.3f} once gamma is chosen anew ({model.similarity_})")

figure, axes = plt.subplots(figsize=(6, 3.5))
axes.plot(counts, held, marker="o", label="taught, values held")
axes.plot(counts[-1], quality(), marker="*", markersize=12, linestyle="", label="after retune()")
axes.set_xlabel("labelled genes")
axes.set_ylabel("average precision on 500 others")
axes.legend()
figure.tight_layout()
figure.savefig(pictures / "teaching.png", dpi=120)

# %% Explain: which genes decided, and how many labels there should be
gene = X[test[3:4]]
why = model.explain(gene, top=5)
print(why)
figure, axes = plt.subplots(figsize=(7, 7))
why.plot(0, axes)
figure.tight_layout()
figure.savefig(pictures / "explanation.png", dpi=120)

# %% Forget: the strongest voice is taken out, exactly
voice = why.contributors(0, int(why.chosen[0][0]))[0][0]
model.forget([voice])
left = model.explain(gene, top=5).to_frame()
print(f"{voice} is forgotten: in the explanation now {int((left['id'] == voice).sum())} times")

# %% Save and load: one file, every byte under a checksum, never code
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "yeast.simlabel"
    model.save(path)
    again = load(path, mmap=True)
    content = path.read_bytes()
    print(f"saved in {len(content) / 2**20:.1f} MiB; {voice} is in it: {voice.encode() in content}")
    same = np.array_equal(again.label_weights(X[test]), model.label_weights(X[test]))
    print(f"loaded, it predicts the same: {same}")

# %% Find planted errors: 5% of all labels are flipped
flipped = np.random.default_rng(1).random(Y[pool].shape) < 0.05
noisy = np.where(flipped, 1 - Y[pool], Y[pool])
curves = {}
for influence in ("uniform", "ridge"):
    suspect = SMLClassifier(
        "laplacian", normalizer=["zscore", "l2"], influence=influence, tuning="loo", random_state=0
    ).fit(X[pool], noisy)
    frame = suspect.suspicious_labels(top=None)
    wrong = flipped[frame["id"], frame["label"]]
    curves[influence] = precision_recall_curve(wrong, frame["suspicion"])
    found = average_precision_score(wrong, frame["suspicion"])
    planted = wrong[:100].sum()
    print(f"{influence}: of the 100 most doubtful labels {planted} were planted; AP {found:.3f}")

figure, axes = plt.subplots(figsize=(5, 4))
for influence, (precision, recall, _) in curves.items():
    axes.plot(recall[:-1], precision[:-1], label=influence)
axes.axhline(0.05, color="grey", linestyle=":", label="by chance")
axes.set_xlabel("share of the planted errors that are found")
axes.set_ylabel("share of the doubted labels that are wrong")
axes.legend()
figure.tight_layout()
figure.savefig(pictures / "planted_errors.png", dpi=120)

# %% What is unlike anything seen, and what to label next
strange = gene + 3.0 * np.random.default_rng(2).standard_normal(gene.shape)
print(f"novelty of a gene {model.novelty(gene)[0]:.2f}, of noise {model.novelty(strange)[0]:.2f}")
print("label these next:", [genes[order[1700:][i]] for i in model.suggest(X[order[1700:]], n=5)])
print(f"pictures are in {pictures}")
