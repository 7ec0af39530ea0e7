"""
Which examples decided, and for how much
========================================

A prediction is a sum over labeled examples, so that an explanation is no guess about a model: it is the
sum, not yet added up. Taking the strongest voices away shows that they were really the ones that decided.
"""

# %%
# Genes of yeast, with their functional classes; every gene has a name of its own.
import matplotlib.pyplot as plt
import numpy as np

from simlabel import SMLClassifier
from simlabel.datasets import load_dataset

data = load_dataset("yeast")
X, Y = data.X[:1200], data.Y[:1200].toarray()
genes = [f"gene {i}" for i in range(1200)]
model = SMLClassifier(normalizer=["zscore", "l2"], random_state=0).fit(X, Y, ids=genes)
query = data.X[1500:1501]

# %%
# In words and figures.
why = model.explain(query, top=5)
print(why)

# %%
# As a frame, contributions and the rest add up to the label weights, to the last digit.
frame = why.to_frame()
label = frame.loc[frame["what"] == "label", "label"].iloc[0]
print(frame[frame["label"] == label][["what", "id", "contribution", "share"]].to_string(index=False))

# %%
# As a picture.
figure, axes = plt.subplots(figsize=(7, 7), layout="constrained")
why.plot(0, axes)
plt.show()

# %%
# The test of an explanation: forget the voices that speak for the strongest label, the loudest first, and
# beside it as many at random. The label's share of all similarity falls faster.
strongest = int(why.chosen[0][0])
loudest = [name for name, *_ in model.explain(query, top=100).contributors(0, strongest)]


def falling(names):
    """The label's share after ever more examples are forgotten."""
    shares = [model.decision_function(query)[0, strongest]]
    left = SMLClassifier(model.similarity_, normalizer=["zscore", "l2"]).fit(X, Y, ids=genes)
    for some in np.array_split(names, 10):
        left.forget(some.tolist())
        shares.append(left.decision_function(query)[0, strongest])
    return shares


drawn = np.random.default_rng(0).choice(genes, len(loudest), replace=False)
removed = np.linspace(0, len(loudest), 11)
plt.figure(figsize=(6, 3.4), layout="constrained")
plt.plot(removed, falling(loudest), marker="o", color="#d1662b", label="the loudest first")
plt.plot(removed, falling(drawn), marker="o", color="0.6", label="drawn at random")
plt.xlabel("examples forgotten, of 1,200")
plt.ylabel(f"share of label {strongest}")
plt.legend(frameon=False)
plt.show()
