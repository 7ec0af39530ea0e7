"""An explanation on a terminal, in a notebook and as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from simlabel._utils.text import PLAIN, element, escaped, for_figure, for_terminal, html_table
from simlabel.model.inspection._decisions import legend
from simlabel.model.inspection._texts import Bar, Bars, ExplanationText

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from simlabel.model.inspection._explanation import Explanation

_BAR_WIDTH = 20  # characters
_MAX_HTML_QUERIES = 20
_FOR, _AGAINST = "#2a78b5", "#d1662b"  # distinguishable without red and green
_BAR_STYLE = "display:inline-block;height:0.7em;border-radius:2px;background:{};width:{:.1f}em"
_MAX_NAME = 40  # characters
_BOTH_SIDES = "for (right) or against (left)"
_SIMILAR = "similarity to rows that have it (right) and to rows that do not (left)"


def terminal_lines(why: Explanation) -> Iterator[Text | Table]:
    """Yield the legend, then for each query a headline, a sentence for each label, and tables."""
    if meaning := legend(why):
        yield Text(for_terminal(meaning), style="dim")
    for query in range(len(why)):
        yield Text(for_terminal(_headline(why, query)), style="bold")
        for text in why.texts[query]:
            yield Text(f"  {for_terminal(text.sentence)}")
        for text in why.texts[query]:
            for bars in text.shown:
                title = f"{text.name}: {bars.title}" if bars.title else text.name
                yield Text(for_terminal(title), style="italic")
                yield _terminal_table(bars)


def _headline(why: Explanation, query: int) -> str:
    """Return the title of a query and its predicted labels."""
    title = why.titles[query]
    names = ", ".join(str(why.labels[k]) for k in why.chosen[query]) or "no label"
    return f"Query {query}{'' if title is None else f', {title!r}'}: {names}"


def _terminal_table(bars: Bars) -> Table:
    shown, largest = Table(*bars.headings, "", box=None), bars.largest
    for row in bars.rows:
        length = 0 if row.faint or not row.value else max(1, round(_BAR_WIDTH * abs(row.value) / largest))
        bar = ("█" if row.value > 0 else "░") * length
        cells = [Text(for_terminal(cell)) for cell in bars.cells(row)]
        shown.add_row(*cells, bar, style="dim" if row.faint else None)
    return shown


def html_page(why: Explanation) -> str:
    """Return the legend, then for each query sentences and, folded, the tables behind them."""
    parts = [element("p", escaped(legend(why)))]
    for query in range(min(_MAX_HTML_QUERIES, len(why))):
        parts.append(element("h4", escaped(_headline(why, query))))
        for text in why.texts[query]:
            tables = "".join(_html_table(bars) for bars in text.shown)
            summary = element("summary", escaped(text.sentence))
            parts.append(f'<details style="margin:0.4em 0">{summary}{tables}</details>')
    if len(why) > _MAX_HTML_QUERIES:
        parts.append(element("p", f"and {len(why) - _MAX_HTML_QUERIES:,} more queries"))
    return element("div", "".join(parts))


def _html_table(bars: Bars) -> str:
    largest = bars.largest
    rows = [[*map(escaped, bars.cells(row)), _html_bar(row, largest)] for row in bars.rows]
    return html_table([*bars.headings, ""], rows, bars.title)


def _html_bar(row: Bar, largest: float) -> str:
    if row.faint:
        return ""
    style = _BAR_STYLE.format(_FOR if row.value > 0 else _AGAINST, 8 * abs(row.value) / (largest or 1.0))
    return f'<span style="{style}"></span>'


def plot(why: Explanation, query: int, ax: Axes | None, words: bool) -> Axes:
    """Draw bars to the right for what speaks for a label, to the left for what speaks against it."""
    texts = why.texts[query]
    # terms of learned influence cancel out and tell a reader little: the most similar rows say more
    similar = not (words and any(each.words for each in texts)) and any(each.similar for each in texts)
    groups = [(each, _bars(each, words, similar)) for each in texts]
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
            color = _FOR if bar.share > 0 else _AGAINST
            ax.barh(at, bar.share if similar else 100 * bar.share, color=color, height=0.75)
            places.append(at)
            names.append(for_figure(_name(bar, words and each.words is not None)))
        at += 1.6
    ax.set_yticks(places, names, fontsize="small", **PLAIN)
    ax.set_ylim(at - 1.0, -0.8)
    ax.axvline(0.0, color="0.4", linewidth=0.8)
    sides = "for it" if all(bar.share > 0 for _, bars in groups for bar in bars) else _BOTH_SIDES
    ax.set_xlabel(_SIMILAR if similar else f"share of all that speaks {sides}, %")
    ax.set_title(for_figure(_headline(why, query)), loc="left", fontsize="medium", **PLAIN)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return ax


def _bars(text: ExplanationText, words: bool, similar: bool) -> list[Bar]:
    """Return the rows of a label to draw."""
    shown = (text.similar,) if similar else text.instances
    if words and text.words is not None:
        shown = (text.words,)
    return [row for bars in shown if bars is not None for row in bars.rows if not row.faint]


def _name(bar: Bar, is_word: bool) -> str:
    """Return a word with its column, or a title with its id, short enough to stand beside an axis."""
    first, *more = bar.names if is_word else bar.names[::-1]
    shown = f"{first} ({more[0]})" if more else first
    return shown if len(shown) <= _MAX_NAME else shown[: _MAX_NAME - 1] + "…"
