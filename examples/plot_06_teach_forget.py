"""
Teach and forget, exactly
=========================

A prediction is a sum over examples, so an example that comes or goes is a term more or less: afterwards the
model is the one that a fresh fit would have given.
"""

# %%
# A model on the first half of yeast, and labels that come day by day.
import matplotlib.pyplot as plt
import numpy as np

from simlabel import SMLClassifier
from simlabel.datasets import load_dataset
from simlabel.metrics import average_precision
from simlabel.similarities import RBF

data = load_dataset("yeast")
X, Y = data.X, data.Y.toarray()
test = np.arange(1900, data.n_rows)
model = SMLClassifier(RBF(8.0)).fit(X[:100], Y[:100])
sizes, scores = [100], [average_precision(Y[test], model.decision_function(X[test]))]
for first in range(100, 1900, 200):
    model.partial_fit(X[first : first + 200], Y[first : first + 200])
    sizes.append(model.n_references_)
    scores.append(average_precision(Y[test], model.decision_function(X[test])))

# %%
# It is what a fresh fit on all rows would be.
fresh = SMLClassifier(RBF(8.0)).fit(X[:1900], Y[:1900])
print("the same weights:", np.allclose(model.label_weights(X[test]), fresh.label_weights(X[test])))

# %%
# Forgetting, too: by id, exactly.
model.forget(range(300))
rest = SMLClassifier(RBF(8.0)).fit(X[300:1900], Y[300:1900])
print("the same without 300 rows:", np.allclose(model.label_weights(X[test]), rest.label_weights(X[test])))

# %%
plt.figure(figsize=(6, 3.2), layout="constrained")
plt.plot(sizes, scores, marker="o", color="#2a78b5")
plt.plot([1600], [average_precision(Y[test], model.decision_function(X[test]))], "v", color="#d1662b")
plt.annotate("300 rows forgotten", (1600, scores[-1] - 0.006), xytext=(-60, -35), textcoords="offset points")
plt.xlabel("labeled rows")
plt.ylabel("average precision on held-out rows")
plt.show()
