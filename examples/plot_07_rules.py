"""
Rules and thresholds
====================

The same scores, cut in different ways: what is gained in F1 of rare labels is lost elsewhere. Rules learn
from leave-one-out scores, and can be changed without a refit.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from simlabel import SMLClassifier
from simlabel.datasets import load_dataset
from simlabel.metrics import f1_macro, f1_micro
from simlabel.rules import CutoffRule, OperatingPointRule, PerLabel, SetSize

data = load_dataset("yeast")
X, Y = data.X, data.Y.toarray()
model = SMLClassifier("rbf", influence="ridge", random_state=0).fit(X[:1500], Y[:1500])

# %%
# Each rule on held-out rows.
rules = {
    "set size, the paper's": SetSize(),
    "one cut": CutoffRule(),
    "per label, for micro F1": PerLabel("f1_micro"),
    "per label, for macro F1": PerLabel("f1_macro"),
    "aimed: 90% precision": OperatingPointRule("precision", 0.9),
    "aimed: 90% recall": OperatingPointRule("recall", 0.9),
}
true = Y[1500:]
found = {}
for name, rule in rules.items():
    predicted = model.set_label_rule(rule).predict(X[1500:])
    hits = (predicted * true).sum()
    found[name] = hits / true.sum(), hits / predicted.sum()
    print(
        f"{name:24} micro F1 {f1_micro(true, predicted):.3f}, macro F1 {f1_macro(true, predicted):.3f}, "
        f"recall {found[name][0]:.2f}, precision {found[name][1]:.2f}"
    )

# %%
# All of them in the plane of recall and precision; along a gray line micro F1 is the same.
figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
recall, precision = np.meshgrid(np.linspace(0.05, 1, 200), np.linspace(0.3, 1, 200))
lines = axes.contour(
    recall,
    precision,
    2 * recall * precision / (recall + precision),
    [0.3, 0.4, 0.5, 0.6, 0.7, 0.8],
    colors="0.8",
)
axes.clabel(lines, fmt="F1 %.1f", fontsize=8)
for (name, point), marker in zip(found.items(), "osD^v*", strict=True):
    axes.scatter(*point, s=90, marker=marker, label=name, zorder=2)
axes.set(xlabel="recall: true labels that are found", ylabel="precision: given labels that are true")
axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
plt.show()
