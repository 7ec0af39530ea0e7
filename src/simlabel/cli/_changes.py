"""Model files that are changed: the old model or the new one is there, whole, at any moment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simlabel._utils.progress import heard_by, shown_progress
from simlabel.cli._console import Terminal, say, show_json

if TYPE_CHECKING:
    from simlabel.cli._models import FittedModel

Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="Where the changed model goes.", show_default="back to where it was read from"
    ),
]


_MOST_NAMED = 10


def save_changed(
    fitted: FittedModel, model: Path, output: Path | None, retune: bool, json: bool, done: tuple[str, int]
) -> None:
    """Retune if that is wanted, write the model, and say what was done, and with how many rows."""
    estimator, place = fitted.estimator, output or model
    _tell_new_labels(fitted)
    if retune:
        with shown_progress("choosing anew") as bar, heard_by(bar):
            estimator.retune()
    estimator.save(place)
    what, count = done
    facts = {"model": str(place), what: count}
    facts |= {"rows": estimator.n_references_, "labels": len(estimator.classes_)}
    if json:
        show_json(facts)
        return
    known = f"{facts['rows']:,} rows and {facts['labels']:,} labels"
    Terminal().print(f"{count:,} row{'s' * (count != 1)} {what}: the model has {known} now.")
    say(f"wrote {place}")


def _tell_new_labels(fitted: FittedModel) -> None:
    """Name labels that the model did not have: one that holds another separator is seen at once."""
    known = set(fitted.labels)  # when the file was opened
    new = [name for name in map(str, fitted.estimator.classes_) if name not in known]
    if not new:
        return
    between = "" if fitted.separator is None else f" (this model separates labels by {fitted.separator!r})"
    more = "" if len(new) <= _MOST_NAMED else f" and {len(new) - _MOST_NAMED:,} more"
    named = ", ".join(map(repr, new[:_MOST_NAMED]))
    say(f"{len(new):,} new label{'s' * (len(new) != 1)}{between}: {named}{more}")
