"""What a search works on, and what it gives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel.engines import Engine
from simlabel.influence import Influence, Setting
from simlabel.metrics import Truth
from simlabel.rows import References
from simlabel.similarities import Grid, Similarity
from simlabel.support.forks import cached_property
from simlabel.support.validation import FloatArray, take_rows
from simlabel.weightings import Weighting

Candidate = dict[str, Any]

_WEIGHTING, _INFLUENCE = "weighting__", "influence__"


@dataclass(frozen=True)
class Problem:
    """The stages, some of whose parameters are "auto", and the training rows."""

    similarity: Similarity
    weighting: Weighting | None
    influence: Influence
    references: References
    engine: Engine
    n_jobs: int | None
    seed: int
    scales: FloatArray | None = None  # of references that were drawn: how many each stands for

    def grids(self) -> dict[str, Grid]:
        """Candidates for everything that is "auto", by nested names."""
        X, weights = self.references.X, self.references.weights
        found = dict(self.similarity.grids(X, weights, self.seed))
        if self.weighting is not None:
            grids = self.weighting.grids(self.references.n_rows)
            found |= {_WEIGHTING + name: Grid(values) for name, values in grids.items()}
        grids = self.influence.grids()
        return found | {_INFLUENCE + name: Grid(values) for name, values in grids.items()}

    def resolved(self, candidate: Candidate) -> Problem:
        """The same with these values in place of "auto"."""

        def part(prefix: str) -> Candidate:
            return {name[len(prefix) :]: v for name, v in candidate.items() if name.startswith(prefix)}

        own = {n: v for n, v in candidate.items() if not n.startswith((_WEIGHTING, _INFLUENCE))}
        weighting, influence = self.weighting, self.influence
        if part(_WEIGHTING):
            weighting = type(weighting)(**(weighting.get_params(deep=False) | part(_WEIGHTING)))  # type: ignore
        if part(_INFLUENCE):
            influence = type(influence)(**(influence.get_params(deep=False) | part(_INFLUENCE)))
        return replace(
            self, similarity=self.similarity.replaced(own), weighting=weighting, influence=influence
        )

    @property
    def setting(self) -> Setting:
        """What an influence is solved from."""
        return Setting(self.references, self.similarity, self.engine, self.n_jobs, self.seed, self.scales)

    def on_rows(self, rows: Any) -> Problem:
        """The same problem on some of the rows."""
        known = self.references
        some = References(take_rows(known.X, rows), known.Y[rows], known.weights[rows])
        return replace(self, references=some, scales=None if self.scales is None else self.scales[rows])

    @cached_property
    def truth(self) -> Truth:
        """The label sets of all references, checked once for all candidates and blocks."""
        return Truth.of(self.references.Y)

    @property
    def stands_for(self) -> FloatArray:
        """How many instances each reference counts as: its weight, times what it was drawn for."""
        weights = self.references.weights
        return weights if self.scales is None else weights * self.scales

    def two_sided(self) -> Problem:
        """One label cannot be ranked; its presence and its absence can."""
        known = self.references
        if known.n_labels != 1:
            return self
        present = known.Y.toarray()
        Y = sp.csr_array(np.hstack([1 - present, present]).astype(np.int8))
        return replace(self, references=References(known.X, Y, known.weights))
