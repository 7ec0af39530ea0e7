"""An explanation on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from simlabel._utils.text import for_terminal
from simlabel.model.inspection._bars import Bars
from simlabel.model.inspection._likely import legend
from simlabel.model.inspection._told import headline
from simlabel.model.inspection._told import told as told_of

if TYPE_CHECKING:
    from simlabel.model.inspection._explanation import Explanation

_BAR = 20
_FOR, _AGAINST = "█", "░"


def told(explanation: Explanation) -> Iterator[Text | Table]:
    """What a percentage means; for each query a headline, a sentence for each label, and the figures."""
    if meaning := legend(explanation):
        yield Text(for_terminal(meaning), style="dim")
    for query in range(len(explanation)):
        yield Text(for_terminal(headline(explanation, query)), style="bold")
        reasons = list(told_of(explanation, query))
        for reason in reasons:
            yield Text(f"  {for_terminal(reason.sentence)}")
        for reason in reasons:
            for bars in reason.shown:
                title = f"{reason.name}: {bars.title}" if bars.title else reason.name
                yield Text(for_terminal(title), style="italic")
                yield _table(bars)


def _table(bars: Bars) -> Table:
    table = Table(*bars.headings, "", box=None)
    for row in bars.rows:
        names = [Text(for_terminal(each)) for each in row.names]
        sign = _FOR if row.value > 0 else _AGAINST
        bar = "" if row.faint or not row.value else sign * max(1, round(_BAR * abs(row.value) / bars.largest))
        notes = (*row.notes, *[""] * (len(bars.headings) - len(names) - 1 - len(row.notes)))
        table.add_row(*names, f"{row.value:.4g}", *notes, bar, style="dim" if row.faint else None)
    return table
