"""A guarantee that has met a model: what is promised, on what it rests, and the sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from simlabel._utils.validation import FloatArray, Rows
from simlabel.guarantees._risk import Inside
from simlabel.model import Model

if TYPE_CHECKING:
    from simlabel.guarantees._base import Guarantee

#: normalized queries -> their scores, and which labels are in the set, (n_queries, n_labels) both
Chooser = Callable[[Rows], tuple[FloatArray, Inside]]


class PickedRowsWarning(UserWarning):
    """A promise rests on rows that were picked, and not drawn as new rows are."""


@dataclass(frozen=True)
class Promise:
    """What a guarantee promises for one model; `predict_sets` takes it in place of the guarantee.

    Attributes
    ----------
    guarantee : Guarantee
        What was asked for.
    method : str
        "full", "bonferroni" or "split".
    statement : str
        What is promised, in words.
    n_rows : int
        Labelled rows on which it rests.
    caveats : tuple of str
        Why it does not hold to the letter; empty where it does.
    always : tuple
        Labels that are in every set, since too few rows have them to exclude them.
    """

    guarantee: Guarantee
    method: str
    statement: str
    n_rows: int
    model: Model = field(repr=False)
    choose: Chooser = field(repr=False)
    caveats: tuple[str, ...] = ()
    always: tuple[Any, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether it holds to the letter, if new rows come from where the labelled ones came from."""
        return not self.caveats

    def inside(self, X: Rows) -> tuple[FloatArray, Inside, Inside]:
        """Scores and sets of checked queries, (n_queries, n_labels), and for which there is no useful one."""
        scores, inside = self.choose(self.model.normalized(X))
        inside = self.model.labels.closed(inside)  # what is promised of sets holds of larger ones, too
        return scores, inside, self.guarantee.useless(inside)

    def sets(self, X: Rows) -> list[tuple[Any, ...] | None]:
        """Label sets of checked queries, strongest first; None for those that are left to a person."""
        scores, inside, useless = self.inside(X)
        names, order = self.model.labels.classes.tolist(), np.argsort(-scores, axis=1, kind="stable")
        return [
            None if useless[q] else tuple(names[k] for k in order[q] if inside[q, k])
            for q in range(len(scores))
        ]

    def __str__(self) -> str:
        lines = [self.statement]
        lines += [f"Not to the letter: {caveat}" for caveat in self.caveats]
        if self.always:
            shown = ", ".join(map(str, self.always[:10]))
            more = f" and {len(self.always) - 10} more" if len(self.always) > 10 else ""
            lines.append(f"In every set, for too few rows have them: {shown}{more}.")
        return "\n".join(lines)
