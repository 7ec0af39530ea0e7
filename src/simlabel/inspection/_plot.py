"""An explanation as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simlabel.inspection._told import Bar, Told, headline, told
from simlabel.support.text import PLAIN, for_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from simlabel.inspection._explanation import Explanation

_FOR, _AGAINST = "#2a78b5", "#d1662b"  # told apart by those who see no red or green, too
_LONGEST = 40


def plot(explanation: Explanation, query: int, ax: Axes | None, words: bool) -> Axes:
    """Bars to the right for what speaks for a label, to the left for what speaks against it."""
    groups = [(each, _bars(each, words)) for each in told(explanation, query)]
    groups = [(each, bars) for each, bars in groups if bars]
    if ax is None:
        import matplotlib.pyplot as plt

        height = 1.2 + 0.26 * sum(len(bars) + 1.5 for _, bars in groups)
        _, ax = plt.subplots(figsize=(8, height), layout="constrained")
    places, names, at = [], [], 0.0
    for each, bars in groups:
        heading = ax.text(0.0, at, for_figure(f" {each.heading}"), fontweight="bold", va="center", **PLAIN)
        heading.set_in_layout(False)
        for bar in bars:
            at += 1.0
            ax.barh(at, 100 * bar.share, color=_FOR if bar.share > 0 else _AGAINST, height=0.75)
            places.append(at)
            names.append(for_figure(_name(bar, words and each.words is not None)))
        at += 1.6
    ax.set_yticks(places, names, fontsize="small", **PLAIN)
    ax.set_ylim(at - 1.0, -0.8)
    ax.axvline(0.0, color="0.4", linewidth=0.8)
    ax.set_xlabel("share of all that speaks for (right) or against (left), %")
    ax.set_title(for_figure(headline(explanation, query)), loc="left", fontsize="medium", **PLAIN)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def _bars(each: Told, words: bool) -> list[Bar]:
    shown = (each.words,) if words and each.words is not None else each.instances
    return [row for bars in shown if bars is not None for row in bars.rows if not row.faint]


def _name(bar: Bar, is_word: bool) -> str:
    """A word with its column, or a title with its id, short enough to stand beside an axis."""
    first, *more = bar.names if is_word else bar.names[::-1]
    shown = f"{first} ({more[0]})" if more else first
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
