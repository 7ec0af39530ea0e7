"""Leave-one-out by masking a row's own entry, never by subtracting it from the sum.

At a narrow bandwidth an instance's similarity to itself, 1, is the whole sum: what is left after
a subtraction has no digits. Of a row of weight w one copy is left out, and w - 1 stay.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from simlabel._scoring import Scorer
from simlabel._validation import FloatArray
from simlabel.engines import Exclude
from simlabel.label_rules import TrainingBlock


def own_entries(rows: npt.NDArray[np.integer], weights: FloatArray) -> Exclude:
    """What to leave out when these references are the queries."""
    w = weights[rows]
    return Exclude(rows.astype(np.int64), np.maximum(w - 1.0, 0.0) / w)


def training_blocks(scorer: Scorer, *, leave_out: bool = True) -> Iterator[TrainingBlock]:
    """Scores of all references, each left out of its own sums or not, block by block."""
    references = scorer.references
    for part in scorer.chunks(references.X):
        rows = np.arange(part.start, part.stop)
        exclude = own_entries(rows, references.weights) if leave_out else None
        scores = scorer.score(references.X[part], exclude)
        yield TrainingBlock(scores, references.Y[part], references.weights[part])
