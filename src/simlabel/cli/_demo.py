"""`simlabel demo`: the paper's table for SML on yeast, published beside measured."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from simlabel._utils.progress import shown_progress
from simlabel.cli._console import Terminal, guarded
from simlabel.cli._options import Debug

if TYPE_CHECKING:
    from simlabel.datasets import Dataset
    from simlabel.experiments import CrossValidation

_EXAMPLES = 5


@guarded
def demo_verb(
    folds: Annotated[int, typer.Option(min=2, help="Number of cross-validation folds.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the shuffle.")] = 0,
    debug: Debug = False,
) -> None:
    """Cross-validate SML on the yeast set beside the paper's figures, and show some predictions."""
    from simlabel import SMLClassifier
    from simlabel.datasets import load_dataset
    from simlabel.experiments import cross_validate

    console = Terminal()
    started = time.perf_counter()
    data = load_dataset("yeast")
    console.print(f"{data!r}")
    with shown_progress(f"{folds}-fold cross-validation", announced=False) as bar:
        result = cross_validate(
            SMLClassifier(random_state=seed),
            data.X,
            data.Y,
            folds=folds,
            seed=seed,
            on_fold=lambda done, total: bar(done, total, f"{folds}-fold cross-validation"),
        )
    console.print(comparison_table(result, folds))
    _show_examples(console, data, seed)
    console.print(f"Done in {time.perf_counter() - started:.1f} s.")


def comparison_table(result: CrossValidation, folds: int) -> Table:
    """Published beside measured, and whether they agree within one published standard deviation."""
    from simlabel.experiments import PUBLISHED
    from simlabel.metrics import CRITERIA

    table = Table(title=f"SML on yeast, {folds} folds, mean ± standard deviation")
    for heading in ("Criterion", "Published", "Measured", "Within one std"):
        table.add_column(heading, justify="left" if heading == "Criterion" else "right")
    for name, criterion in CRITERIA.items():
        published = PUBLISHED["yeast"]["SML"][name]
        assert published is not None
        mean, std = result.mean(name), result.std(name)
        agrees = "yes" if published.agrees(mean) else "no"
        table.add_row(criterion.heading, str(published), f"{mean:.3f} ± {std:.3f}", agrees)
    return table


def _show_examples(console: Console, data: Dataset, seed: int) -> None:
    import numpy as np

    from simlabel import SMLClassifier

    order = np.random.default_rng(seed).permutation(data.n_rows)
    asked, known = order[:_EXAMPLES], order[_EXAMPLES:]
    model = SMLClassifier(random_state=seed).fit(data.X[known], data.Y[known])
    table = Table(title="Genes that the model has not seen: predicted functions, strongest first")
    for heading in ("Gene", "Predicted", "True", "Right"):
        table.add_column(heading)
    for gene, predicted in zip(asked, model.predict_sets(data.X[asked]), strict=True):
        true = data.Y[[gene]].indices
        right = f"{len(set(predicted) & set(true.tolist()))} of {len(true)}"
        table.add_row(str(gene), _names(predicted, data), _names(sorted(true), data), right)
    console.print(table)


def _names(labels: Iterable[int], data: Dataset) -> str:
    return ", ".join(str(data.label_names[k]) for k in labels)
