"""
Rules and thresholds
====================

The same scores, cut in different ways: what is gained in F1 of rare labels is lost elsewhere. Rules learn from leave-one-out
scores, and can be changed without a refit.
"""

# %%
import matplotlib.pyplot as plt

from simlabel import SMLClassifier
from simlabel.datasets import load_dataset
from simlabel.label_rules import AimedRule, CutoffRule, PerLabel, SetSize
from simlabel.metrics import f1_macro, f1_micro

data = load_dataset("yeast")
X, Y = data.X, data.Y.toarray()
model = SMLClassifier("rbf", influence="ridge", random_state=0).fit(X[:1500], Y[:1500])

# %%
# Each rule on held-out rows.
rules = {
    "set size": SetSize(),
    "one cut": CutoffRule(),
    "per label, micro F1": PerLabel("f1_micro"),
    "per label, macro F1": PerLabel("f1_macro"),
    "90% precision": AimedRule("precision", 0.9),
    "90% recall": AimedRule("recall", 0.9),
}
found = {}
for name, rule in rules.items():
    predicted = model.change_rule(rule).predict(X[1500:])
    true = Y[1500:]
    hits = (predicted * true).sum()
    found[name] = (f1_micro(true, predicted), f1_macro(true, predicted))
    print(
        f"{name:20} micro F1 {found[name][0]:.3f}, macro F1 {found[name][1]:.3f}, "
        f"precision {hits / predicted.sum():.2f}, recall {hits / true.sum():.2f}"
    )

# %%
plt.figure(figsize=(6, 3.6), layout="constrained")
for name, (micro, macro) in found.items():
    plt.scatter(micro, macro, color="#2a78b5")
    plt.annotate(name, (micro, macro), xytext=(6, 4), textcoords="offset points", fontsize=8)
plt.xlabel("micro F1")
plt.ylabel("macro F1")
plt.margins(0.25)
plt.show()
