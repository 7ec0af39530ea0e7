"""
Find wrong labels
=================

Every labeled row can be scored as if it had not been there, exactly. Where the evidence contradicts a
label, the label is probably wrong: here on yeast genes, of which some labels were turned over on purpose.
"""

# %%
# Yeast, with 3% of 500 rows' labels turned over.
import matplotlib.pyplot as plt
import numpy as np

from simlabel import SMLClassifier
from simlabel.datasets import load_dataset

data = load_dataset("yeast")
rng = np.random.default_rng(0)
rows = rng.choice(data.n_rows, 500, replace=False)
X, Y = data.X[rows], data.Y[rows].toarray()
turned = rng.random(Y.shape) < 0.03
given = np.where(turned, 1 - Y, Y)
print(f"{turned.sum()} of {Y.size} labels are wrong.")

# %%
# Suspects, the most doubtful first.
model = SMLClassifier(random_state=0).fit(X, given)
suspects = model.suspicious_labels(top=150)
print(suspects.head(8).to_string(index=False))

# %%
# How many of the first suspects were really turned over, and how many would be by chance.
hits = np.array([turned[row, label] for row, label in zip(suspects["id"], suspects["label"], strict=True)])
first = np.arange(1, len(hits) + 1)
plt.figure(figsize=(6, 3.4), layout="constrained")
plt.plot(first, np.cumsum(hits), color="#2a78b5", linewidth=2, label="most doubtful first")
plt.plot(first, first * turned.mean(), color="0.6", linestyle="--", label="in any order")
plt.xlabel("suspects looked at")
plt.ylabel("wrong labels found")
plt.legend(frameon=False)
plt.show()
