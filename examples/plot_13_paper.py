"""
Reproduce the paper
===================

The yeast table of the paper, run again with its protocol, ten folds: published beside measured. In the
shell it is ``simlabel reproduce yeast``, with all rivals; here SML and ML-kNN, so that it takes seconds.
"""

# %%
import matplotlib.pyplot as plt
import pandas as pd

from simlabel.experiments import QUICK, reproduce

again = reproduce("yeast", algorithms=QUICK, folds=10)
table = pd.DataFrame(
    [
        (row.algorithm, row.criterion, str(row.published), f"{row.measured.mean:.3f}", row.agrees)
        for row in again.rows()
    ],
    columns=["algorithm", "criterion", "published", "measured", "within one deviation"],
)
print(table.to_string(index=False))

# %%
# What becomes of the paper's claims, as far as these two can tell.
for claim in again.claims():
    print(f"{claim.verdict}: {claim.text} ({claim.because})")

# %%
# Each criterion in published standard deviations from the published mean: the gray band is agreement.
rows = [row for row in again.rows() if row.published is not None]
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
axes.axvspan(-1, 1, color="0.92")
axes.axvline(0, color="0.6")
criteria = list(dict.fromkeys(row.criterion for row in rows))
for algorithm, color, shift in (("SML", "#2a78b5", -0.12), ("ML-kNN", "#d1662b", 0.12)):
    mine = [row for row in rows if row.algorithm == algorithm]
    away = [(row.measured.mean - row.published.mean) / row.published.std for row in mine]
    axes.scatter(
        away, [criteria.index(row.criterion) + shift for row in mine], color=color, s=50, label=algorithm
    )
axes.set_yticks(range(len(criteria)), [name.replace("_", " ") for name in criteria])
axes.invert_yaxis()
axes.set_xlabel("measured less published, in published standard deviations")
axes.legend(frameon=False)
plt.show()
