"""An explanation as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simlabel._utils.text import PLAIN, for_figure
from simlabel.model.inspection._bars import Bar, Bars
from simlabel.model.inspection._told import Told, headline, told

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from simlabel.model.inspection._explanation import Explanation

_FOR, _AGAINST = "#2a78b5", "#d1662b"  # told apart by those who see no red or green, too
_LONGEST = 40
_BOTH = "for (right) or against (left)"
_SIMILAR = "similarity to rows that have it (right) and to rows that do not (left)"


def plot(explanation: Explanation, query: int, ax: Axes | None, words: bool) -> Axes:
    """Bars to the right for what speaks for a label, to the left for what speaks against it."""
    reasons = list(told(explanation, query))
    # terms of learned influence cancel out and tell a reader little: the most similar rows say more
    similar = not (words and any(each.words for each in reasons)) and any(each.similar for each in reasons)
    groups = [(each, _bars(each, words, similar)) for each in reasons]
    groups = [(each, bars) for each, bars in groups if bars]
    if ax is None:
        import matplotlib.pyplot as plt

        height = 1.2 + 0.26 * sum(len(bars) + 1.5 for _, bars in groups)
        _, ax = plt.subplots(figsize=(8, height), layout="constrained")
    unit = 1 if similar else 100
    places, names, at = [], [], 0.0
    for each, bars in groups:
        heading = ax.text(0.0, at, for_figure(f" {each.heading}"), fontweight="bold", va="center", **PLAIN)
        heading.set_in_layout(False)
        for bar in bars:
            at += 1.0
            ax.barh(at, unit * bar.share, color=_FOR if bar.share > 0 else _AGAINST, height=0.75)
            places.append(at)
            names.append(for_figure(_name(bar, words and each.words is not None)))
        at += 1.6
    ax.set_yticks(places, names, fontsize="small", **PLAIN)
    ax.set_ylim(at - 1.0, -0.8)
    ax.axvline(0.0, color="0.4", linewidth=0.8)
    sides = "for it" if all(bar.share > 0 for _, bars in groups for bar in bars) else _BOTH
    ax.set_xlabel(_SIMILAR if similar else f"share of all that speaks {sides}, %")
    ax.set_title(for_figure(headline(explanation, query)), loc="left", fontsize="medium", **PLAIN)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def _bars(each: Told, words: bool, similar: bool) -> list[Bar]:
    shown: tuple[Bars | None, ...] = (each.similar,) if similar else each.instances
    if words and each.words is not None:
        shown = (each.words,)
    return [row for bars in shown if bars is not None for row in bars.rows if not row.faint]


def _name(bar: Bar, is_word: bool) -> str:
    """A word with its column, or a title with its id, short enough to stand beside an axis."""
    first, *more = bar.names if is_word else bar.names[::-1]
    shown = f"{first} ({more[0]})" if more else first
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
