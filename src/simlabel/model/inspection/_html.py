"""An explanation in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simlabel._utils.html import element, escaped, table
from simlabel.model.inspection._bars import Bar, Bars
from simlabel.model.inspection._likely import legend
from simlabel.model.inspection._told import Told, headline, told

if TYPE_CHECKING:
    from simlabel.model.inspection._explanation import Explanation

_MOST = 20  # queries
_BAR = "display:inline-block;height:0.7em;border-radius:2px;background:{};width:{:.1f}em"
_FOR, _AGAINST = "#2a78b5", "#d1662b"


def page(explanation: Explanation) -> str:
    """What a percentage means; for each query, sentences and, folded, the figures behind them."""
    parts = [element("p", escaped(legend(explanation)))]
    for query in range(min(_MOST, len(explanation))):
        parts.append(element("h4", escaped(headline(explanation, query))))
        parts += [_reason(each) for each in told(explanation, query)]
    if len(explanation) > _MOST:
        parts.append(element("p", f"and {len(explanation) - _MOST:,} more queries"))
    return element("div", "".join(parts))


def _reason(each: Told) -> str:
    tables = "".join(_table(bars) for bars in each.shown)
    return f'<details style="margin:0.4em 0"><summary>{escaped(each.sentence)}</summary>{tables}</details>'


def _table(bars: Bars) -> str:
    rows = []
    for row in bars.rows:
        notes = (*row.notes, *[""] * (len(bars.headings) - len(row.names) - 1 - len(row.notes)))
        rows.append([*map(escaped, (*row.names, f"{row.value:.4g}", *notes)), _bar(row, bars.largest)])
    return table([*bars.headings, ""], rows, bars.title)


def _bar(row: Bar, largest: float) -> str:
    if row.faint:
        return ""
    style = _BAR.format(_FOR if row.value > 0 else _AGAINST, 8 * abs(row.value) / (largest or 1.0))
    return f'<span style="{style}"></span>'
