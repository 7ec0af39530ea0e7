"""
Labels that nobody has looked at
================================

Of most rows only some labels are known: a photo was tagged "sea", and whether it shows a sunset was not
asked. To write "no" there teaches a model something false. Say instead that it is not known.
"""

# %%
# Yeast, of which a share of all labels is not known: NaN. For comparison the usual way out: 0 in their place.
import matplotlib.pyplot as plt
import numpy as np

from simlabel import SMLClassifier
from simlabel.datasets import load_dataset
from simlabel.labels import PartialLabels
from simlabel.metrics import average_precision, f1_micro

data = load_dataset("yeast")
X, Y = data.X[:1200], data.Y[:1200].toarray().astype(float)
Q, truth = data.X[1500:], data.Y[1500:].toarray()
rng = np.random.default_rng(0)
order = rng.random(Y.shape)  # the same labels are lost first in every turn
shares = [0.0, 0.2, 0.4, 0.6, 0.8]
found = {"said to be unknown": [], "taken for absent": []}
for share in shares:
    unknown = order < share
    for name, given in zip(found, (np.where(unknown, np.nan, Y), np.where(unknown, 0.0, Y)), strict=True):
        model = SMLClassifier("rbf", influence="ridge", random_state=0).fit(X, given)
        predicted = np.nan_to_num(model.predict(Q)).astype(int)
        scores = model.decision_function(Q)
        found[name].append((average_precision(truth, scores), f1_micro(truth, predicted)))
for name, rows in found.items():
    print(name, np.round(rows, 3).tolist())

# %%
# The same on held-out rows, as a picture: ranking suffers little, but sets and probabilities do.
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharex=True)
for name, color in zip(found, ("#2a78b5", "#d1662b"), strict=True):
    for axis, values in zip(axes, np.transpose(found[name]), strict=True):
        axis.plot(shares, values, marker="o", color=color, label=name)
axes[0].set(xlabel="share of labels that are not known", ylabel="average precision")
axes[1].set(xlabel="share of labels that are not known", ylabel="micro F1 of the predicted sets")
axes[1].legend(frameon=False)
plt.show()

# %%
# With sets, ``PartialLabels`` says what is known: these, and not those.
photos = [[1.0, 0.0], [0.9, 0.1], [0.8, 0.3], [0.1, 0.9], [0.0, 1.0]]
y = [
    {"sea", "sunset"},
    PartialLabels({"sea"}),
    PartialLabels({"sea"}, absent={"trees"}),
    {"trees"},
    {"trees"},
]
model = SMLClassifier("rbf", normalizer=None).fit(photos, y)
print(model.predict([[1.0, 0.1], [0.0, 0.9]]))
