"""Options that ask for sets with a guarantee, and what comes of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from simlabel._utils.text import for_terminal

if TYPE_CHECKING:
    from simlabel._utils.validation import Rows
    from simlabel.cli._models import FittedModel
    from simlabel.datasets import Dataset
    from simlabel.guarantees import Guarantee, Measured, Promise

_PANEL = "Sets with a guarantee"


def _option(name: str, what: str) -> Any:
    return typer.Option(name, min=0.0, max=1.0, help=f"{what}, e.g. 0.9.", rich_help_panel=_PANEL)


Recall = Annotated[float | None, _option("--recall", "Share of the true labels expected in a set")]
Precision = Annotated[
    float | None, _option("--precision", "Share of the labels in a set expected to be right")
]
LabelCoverage = Annotated[
    float | None, _option("--label-coverage", "How likely each label is in the set where it is true")
]
SetCoverage = Annotated[
    float | None, _option("--set-coverage", "How likely all true labels are in the set together")
]


def asked_for(**levels: float | None) -> list[Guarantee]:
    """The guarantees that were asked for, by name with underscores; a level out of range is misuse."""
    from simlabel.guarantees import GUARANTEES

    found = []
    for name, level in levels.items():
        if level is None:
            continue
        guarantee = GUARANTEES[name.replace("_", " ")](level)
        try:
            guarantee.check()
        except ValueError as error:
            raise typer.BadParameter(f"--{name.replace('_', '-')}: {error}") from None
        found.append(guarantee)
    return found


def only_one(guarantees: Sequence[Guarantee]) -> Guarantee | None:
    """The one that sets are to keep; several are misuse."""
    if len(guarantees) > 1:
        names = " and ".join(f"--{each.name.replace(' ', '-')}" for each in guarantees)
        raise typer.BadParameter(f"{names}: a set keeps one promise; give one of them.")
    return guarantees[0] if guarantees else None


def promised_sets(fitted: FittedModel, promise: Promise, X: Rows) -> list[tuple[str, ...] | None]:
    """Sets of names; None where no useful one keeps the promise."""
    sets = fitted.ask(partial(fitted.estimator.predict_sets, guarantee=promise), X)
    return [None if each is None else tuple(map(str, each)) for each in sets]


def measured_promises(
    fitted: FittedModel, guarantees: Sequence[Guarantee], data: Dataset
) -> list[tuple[Promise, Measured]]:
    """What is promised, and what a labelled file says of it."""
    from simlabel.cli._rows import BLOCK

    names, Y = [str(name) for name in data.label_names], data.Y
    bounds = zip(Y.indptr[:-1], Y.indptr[1:], strict=True)
    truths = [{names[k] for k in Y.indices[first:last]} for first, last in bounds]
    found = []
    for guarantee in guarantees:
        promise = fitted.estimator.guarantee(guarantee)
        sets = []
        for first in range(0, data.n_rows, BLOCK):
            sets += promised_sets(fitted, promise, data.X[first : first + BLOCK])
        found.append((promise, guarantee.measure(truths, sets)))
    return found


def promises_table(found: Sequence[tuple[Promise, Measured]]) -> Table:
    """A row for each guarantee."""
    table = Table(title="Promised and measured", title_justify="left")
    table.add_column("Guarantee")
    for heading in ("Promised", "Measured", "Standard error", "Labels in a set", "Left to a person"):
        table.add_column(heading, justify="right")
    for promise, one in found:
        name = promise.guarantee.name
        if one.lowest is not None and one.lowest[1] < one.promised:
            label, share, n = one.lowest
            name += f"\nlowest: {for_terminal(str(label))} {share:.3f} of {n:,}"
        cells = (f"{one.promised:g}", _shown(one.value), _shown(one.error), _shown(one.size, 2))
        table.add_row(name, *cells, f"{one.abstained:,}")
    return table


def promises_json(found: Sequence[tuple[Promise, Measured]]) -> dict[str, Any]:
    """The same for machines."""
    facts = {}
    for promise, one in found:
        numbers = {name: None if math.isnan(value) else value for name, value in _numbers(one).items()}
        facts[promise.guarantee.name] = numbers | {
            "abstained": one.abstained,
            "statement": promise.statement,
            "caveats": list(promise.caveats),
        }
    return facts


def _numbers(one: Measured) -> dict[str, float]:
    return {"promised": one.promised, "measured": one.value, "standard_error": one.error, "size": one.size}


def _shown(value: float, digits: int = 3) -> str:
    return "undefined" if math.isnan(value) else f"{value:.{digits}f}"
