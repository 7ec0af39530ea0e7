"""An explanation as tables on a terminal and as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from simlabel.support.text import PLAIN, for_figure, for_terminal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from simlabel.inspection._explanation import Explanation

_BAR = 20


def tables(explanation: Explanation) -> Iterator[Text | Table]:
    """For each query a headline, its set size, and a table for each predicted label."""
    for query, chosen in enumerate(explanation.chosen):
        names = ", ".join(for_terminal(explanation.labels[k]) for k in chosen) or "no label"
        yield Text(f"Query {query}: {names}", style="bold")
        for column, name, note, score, mean in _columns(explanation, query):
            contributors = explanation.contributors(query, column)
            if not contributors:
                yield Text(f"  {name}{note}: similar to nothing, so the most frequent is taken")
                continue
            rest = float(explanation.terms.rest[query, column])
            yield _table(name + note, contributors, rest, mean, score)


def _columns(explanation: Explanation, query: int) -> Iterator[tuple[int, str, str, float, float]]:
    """The columns that are shown, each with its name, a note on it, score and mean: size, then labels."""
    n_labels, size = len(explanation.labels), len(explanation.chosen[query])
    for s, known in enumerate(explanation.sizes.tolist()):
        if known == size:
            count = "1 label" if size == 1 else f"{size} labels"
            mean = float(explanation.mean[n_labels + s])
            total = float(explanation.terms.totals[query, n_labels + s]) + mean
            yield n_labels + s, count, ", because of these", total, mean
    for k in explanation.chosen[query].tolist():
        name, score = for_terminal(explanation.labels[k]), float(explanation.scores[query, k])
        yield k, name, f" (score {score:.4g})", score, float(explanation.mean[k])


def _table(
    title: str, contributors: list[tuple[Any, float]], rest: float, mean: float, score: float
) -> Table:
    headings = ("instance", "contribution", "share", "")
    table = Table(*headings, title=Text(title, style="italic"), title_justify="left", box=None)
    for name, value in contributors:
        table.add_row(Text(for_terminal(name)), f"{value:.4g}", *_share(value, score))
    table.add_row("all others", f"{rest:.4g}", *_share(rest, score), style="dim")
    if mean:
        table.add_row("mean", f"{mean:.4g}", *_share(mean, score), style="dim")
    return table


def _share(value: float, score: float) -> tuple[str, str]:
    if not score:
        return "", ""
    share = value / score
    return f"{share:.1%}", "█" * min(_BAR, max(0, round(share * _BAR)))


def plot(explanation: Explanation, query: int, ax: Axes | None) -> Axes:
    """Horizontal bars, one group for the set size and for each predicted label."""
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(7, 1.2 + 0.28 * explanation.terms.positions.shape[2] * 3))
    names, values, groups = [], [], []
    for group, (column, title, _, _, mean) in enumerate(_columns(explanation, query)):
        rest = float(explanation.terms.rest[query, column])
        others = [("all others", rest)] + ([("mean", mean)] if mean else [])
        for name, value in [*explanation.contributors(query, column), *others]:
            names.append(for_figure(f"{title}: {name}"))
            values.append(value)
            groups.append(f"C{group % 10}")
    ax.barh(range(len(values)), values, color=groups)
    ax.set_yticks(range(len(values)), names, fontsize="small", **PLAIN)
    ax.invert_yaxis()
    ax.set_xlabel("contribution to the score")
    ax.set_title(f"Query {query}")
    return ax
