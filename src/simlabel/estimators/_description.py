"""What a fitted model is and what was chosen for it, to read on a terminal and in a notebook."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simlabel._utils.text import element, escaped, for_terminal, html_table
from simlabel.labels import odd_name
from simlabel.metrics import find_criterion
from simlabel.model import Model, told_probabilities
from simlabel.tables import TableEncoder

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console, ConsoleOptions, RenderResult

_MOST_ROWS = 30  # of a table that is shown


@dataclass(frozen=True)
class Description:
    """Facts about a fitted model, and tables of what was found out or tried.

    Attributes
    ----------
    title : str
    facts : tuple of (str, str)
        What, and its value.
    tables : tuple of (str, DataFrame)
        Each with its caption.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    tables: tuple[tuple[str, pd.DataFrame], ...] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        yield Text(for_terminal(self.title), style="bold")
        facts = Table.grid(padding=(0, 2))
        for what, value in self.facts:
            facts.add_row(Text(f"  {for_terminal(what)}"), Text(for_terminal(value)))
        yield facts
        for caption, frame in self.tables:
            shown = Table(*map(str, frame.columns), box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
            for row in frame.head(_MOST_ROWS).itertuples(index=False):
                shown.add_row(*(Text(for_terminal(_shown(value))) for value in row))
            yield Text(for_terminal(caption), style="italic")
            yield shown

    def __str__(self) -> str:
        from rich.console import Console

        text = io.StringIO()
        Console(file=text, width=110, no_color=True).print(self)
        return text.getvalue()

    def _repr_html_(self) -> str:
        facts = html_table(["what", "value"], [[escaped(what), escaped(value)] for what, value in self.facts])
        parts = [element("h4", escaped(self.title)), facts]
        for caption, frame in self.tables:
            rows = [[escaped(_shown(value)) for value in row] for row in frame.head(_MOST_ROWS).to_numpy()]
            parts.append(html_table(list(map(str, frame.columns)), rows, caption))
        return element("div", "".join(parts))


def describe(estimator: Any, model: Model) -> Description:
    """Describe a fitted estimator by the model that answers for it, and by what it knows of its search."""
    tables = []
    if model.encoder is not None:
        tables.append(("Columns", _columns(model, model.encoder)))
    tables.append(("Labels", _labels(model)))
    if hasattr(estimator, "leaderboard_"):
        tables.append(("What was tried", estimator.leaderboard_))
    return Description(type(estimator).__name__, tuple(_facts(estimator, model)), tuple(tables))


def _facts(estimator: Any, model: Model) -> Iterator[tuple[str, str]]:
    scorer, stages = model.scorer, model.scorer.stages
    yield "labelled instances", f"{scorer.references.n_rows:,}"
    yield "labels", f"{len(model.labels.classes):,}"
    if model.encoder is None:
        yield "normalizer", repr(model.normalizer)
    yield "similarity", _similarity(model)
    if stages.weighting is not None:
        yield "weighting", repr(stages.weighting)
    yield "influence", repr(stages.influence)
    if model.labels.kind != "single":
        yield "label rule", repr(model.rule)
    yield "calibration", repr(model.calibration)
    yield "probabilities", told_probabilities(model, estimator.calibration).removeprefix("probabilities are ")
    named = (
        ("label column", "label_column_"),
        ("label separator", "label_separator_"),
        ("title", "title_column_"),
    )
    for what, name in named:
        value = getattr(estimator, name, None)
        if value is not None:
            yield what, repr(value)
    curve = getattr(estimator, "tuning_", None)
    if curve is not None and curve.candidates:
        at = curve.candidates.index(curve.best)
        yield f"{_titled(curve.criterion)}, leave-one-out", f"{curve.values[at]:.4f}"


def _similarity(model: Model) -> str:
    """What rows are compared by; of a table, also how its numbers are."""
    similarity, leaf = model.scorer.stages.similarity, model.number_rbf
    if leaf is not None:
        return f"inner products, and numbers and dates also by RBF(gamma={leaf.similarity.gamma:.4g})"
    if not model.compares_by_words or model.encoder is None:
        return repr(similarity)
    return "inner products" + ", numbers and dates as splines" * bool(len(model.encoder.number_slots))


def _columns(model: Model, encoder: TableEncoder) -> pd.DataFrame:
    """The columns of a table; numbers weigh what their RBF does, where they have one."""
    frame, leaf = encoder.to_frame(), model.number_rbf
    if leaf is not None:
        frame.loc[frame["kind"].isin(["number", "date"]), "weight"] = leaf.factor
    return frame


def _labels(model: Model) -> pd.DataFrame:
    """The labels, the most frequent first: how many rows have each, and what looks wrong about its name."""
    import pandas as pd

    names, Y = model.labels.classes.tolist(), model.scorer.references.Y
    rows = np.bincount(Y.indices, minlength=len(names))
    order = np.argsort(-rows, kind="stable").tolist()
    known = frozenset(names)
    found = [(names[k], int(rows[k]), odd_name(names[k], known)) for k in order]
    return pd.DataFrame(found, columns=["label", "rows", "looks wrong"])


def _titled(name: str) -> str:
    """A criterion as it is shown; a user's own function by its name."""
    try:
        return find_criterion(name).title
    except ValueError:
        return name


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
