"""What the two boosting rivals share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simlabel._utils.validation import check_number
from simlabel.baselines._base import BaselineClassifier, Scores


class BoostingClassifier(BaselineClassifier):
    """A sum of confidences, one for every round; a label is predicted where it is above 0."""

    words_: bool

    def __init__(self, n_rounds: int, *, n_jobs: int | None = None, verbose: bool = False) -> None:
        self.n_rounds = n_rounds
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_rounds(self) -> int:
        check_number(type(self).__name__, "n_rounds", self.n_rounds, at_least=1, integer=True)
        return int(self.n_rounds)

    def _relevant(self, scores: Scores) -> npt.NDArray[np.bool_]:
        return scores > 0
