"""The league table: what came out of every rival on every set, fold by fold; and as a file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simlabel.experiments._fold import FoldResult
from simlabel.experiments._run import TOO_LONG
from simlabel.experiments._store import write_atomically
from simlabel.experiments.league._sets import LeagueSet
from simlabel.metrics import find_criterion
from simlabel.support.validation import FloatArray

MAIN = ("average_precision", "ranking_loss", "f1_micro", "f1_macro")  # what places are won by
OURS = "autosml"


@dataclass(frozen=True)
class SetFacts:
    """What the page says of a set; `ratio` is how many test rows there are for each training row."""

    name: str
    kind: str
    rows: int
    features: int
    labels: int
    cardinality: float
    protocol: str
    what: str = ""
    warnings: tuple[str, ...] = ()
    best: Mapping[str, float] = field(default_factory=dict)
    ratio: float = math.nan

    @classmethod
    def of(cls, one: LeagueSet, protocol: str | None = None) -> SetFacts:
        """The facts of a set; `protocol` says how it was divided, where that is not as it should be."""
        data = one.data
        sizes = (data.n_rows, data.n_attributes, data.n_labels, data.cardinality)
        divided = str(one.protocol) if protocol is None else protocol
        first = one.protocol.splits(data)[0]
        ratio = round(len(first.test) / len(first.train), 6)
        return cls(data.name, one.kind, *sizes, divided, one.what, one.warnings, dict(one.best), ratio)


@dataclass(frozen=True)
class Score:
    """One rival on one set: criteria, seconds and memory of each fold."""

    values: Mapping[str, tuple[float, ...]]
    cpu_seconds: tuple[float, ...]
    fit_seconds: tuple[float, ...]
    predict_seconds: tuple[float, ...]
    peak_mib: tuple[float | None, ...]

    @classmethod
    def of(cls, folds: Sequence[FoldResult]) -> Score:
        """From finished folds."""
        names = folds[0].evaluation.values
        values = {name: tuple(fold.evaluation[name] for fold in folds) for name in names}
        rest = ("cpu_seconds", "fit_seconds", "predict_seconds", "peak_mib")
        return cls(values, *(tuple(getattr(fold, name) for fold in folds) for name in rest))

    def folds(self, criterion: str) -> FloatArray:
        """A criterion on each fold."""
        return np.array(self.values[criterion], dtype=np.float64)

    def mean(self, criterion: str) -> float:
        """Over the folds on which it is defined; NaN where it was not measured."""
        values = self.folds(criterion) if criterion in self.values else np.empty(0)
        values = values[~np.isnan(values)]
        return float(values.mean()) if values.size else math.nan

    def error(self, criterion: str) -> float:
        """Standard error of the mean; NaN of a single fold."""
        values = self.folds(criterion)
        values = values[~np.isnan(values)]
        return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


@dataclass(frozen=True)
class League:
    """The whole table.

    Attributes
    ----------
    sets : dict of str to SetFacts
    titles, about : dict of str to str
        Rivals by name: how they are shown, and what they are.
    scores : dict of (set, rival) to Score
    late : dict of (set, rival) to str
        Who took longer than allowed, or failed: that counts as a loss.
    out : dict of (set, rival) to str
        Who did not play, and why: not meant for the set, or no time was left. That is no loss.
    absent : dict of str to str
        Rivals that are not here at all.
    machine : str
        With versions.
    limit : float or None
        Processor seconds a fold.
    left_out : tuple of str
        Sets that are not played on, each with the reason.
    """

    sets: Mapping[str, SetFacts]
    titles: Mapping[str, str]
    about: Mapping[str, str]
    scores: Mapping[tuple[str, str], Score]
    late: Mapping[tuple[str, str], str]
    out: Mapping[tuple[str, str], str]
    absent: Mapping[str, str]
    machine: str
    limit: float | None = None
    left_out: tuple[str, ...] = ()

    @property
    def own(self) -> str:
        """Whom the others are compared with: AutoSML, or where it does not play the first of the list."""
        return OURS if OURS in self.titles else next(iter(self.titles), OURS)

    def rivals(self) -> list[str]:
        """Who played anywhere, in the order of the list."""
        there = {name for _, name in (*self.scores, *self.late)}
        return [name for name in self.titles if name in there]

    def how_lost(self, data: str, rival: str) -> str:
        """Of who has no figure on a set that it played on: "late" or "failed"."""
        return "late" if self.late[data, rival].startswith(TOO_LONG) else "failed"

    def means(self, criterion: str, sets: Sequence[str] | None = None) -> pd.DataFrame:
        """Mean of a criterion, a row for each set and a column for each rival; NaN where there is none."""
        rows = list(self.sets) if sets is None else list(sets)
        frame = pd.DataFrame(math.nan, index=rows, columns=self.rivals())
        for (data, rival), score in self.scores.items():
            if data in frame.index:
                frame.loc[data, rival] = score.mean(criterion)
        return frame

    def places(self, criterion: str, sets: Sequence[str] | None = None) -> pd.DataFrame:
        """The same for ranks alone: who was late has a figure a hair worse than the worst that there is."""
        frame = self.means(criterion, sets)
        better = 1.0 if find_criterion(criterion).higher_is_better else -1.0
        worst = better * (better * frame).min(axis=1) - better * 1e-6
        for data, rival in self.late:
            if data in frame.index and rival in frame:
                frame.loc[data, rival] = worst[data]
        return frame

    def to_frame(self) -> pd.DataFrame:
        """One row for each set, rival, fold and criterion, and for seconds and memory."""
        rows = []
        for (data, rival), score in self.scores.items():
            rest = {"cpu_seconds": score.cpu_seconds, "peak_mib": score.peak_mib}
            for criterion, values in {**score.values, **rest}.items():
                for fold, value in enumerate(values, 1):
                    rows.append((data, rival, fold, criterion, value))
        return pd.DataFrame(rows, columns=["data", "rival", "fold", "criterion", "value"])

    def write(self, path: Path) -> None:
        """Keep it as JSON."""
        state = {
            "machine": self.machine,
            "limit": self.limit,
            "left_out": list(self.left_out),
            "sets": [{**asdict(one), "ratio": _rounded(one.ratio)} for one in self.sets.values()],
            "titles": dict(self.titles),
            "about": dict(self.about),
            "absent": dict(self.absent),
            "scores": [[*key, _rounded(asdict(score))] for key, score in self.scores.items()],
            "late": [[*key, why] for key, why in self.late.items()],
            "out": [[*key, why] for key, why in self.out.items()],
        }
        write_atomically(path, json.dumps(state, indent=None, allow_nan=False) + "\n")

    @classmethod
    def read(cls, path: Path) -> League:
        """Back from what `write` kept."""
        state = json.loads(Path(path).read_text(encoding="utf-8"))
        sets = [
            SetFacts(**{**one, "warnings": tuple(one["warnings"]), "ratio": one["ratio"] or math.nan})
            for one in state["sets"]
        ]
        return cls(
            {one.name: one for one in sets},
            state["titles"],
            state["about"],
            {(data, rival): _score(kept) for data, rival, kept in state["scores"]},
            {(data, rival): why for data, rival, why in state["late"]},
            {(data, rival): why for data, rival, why in state["out"]},
            state["absent"],
            state["machine"],
            state["limit"],
            tuple(state["left_out"]),
        )


def _rounded(kept: Any) -> Any:
    """Six digits are more than a fold is worth; NaN becomes None."""
    if isinstance(kept, Mapping):
        return {key: _rounded(value) for key, value in kept.items()}
    if isinstance(kept, list | tuple):
        return [_rounded(value) for value in kept]
    return None if kept is None or math.isnan(kept) else float(f"{kept:.6g}")


def _score(kept: Mapping[str, Any]) -> Score:
    def numbers(values: Sequence[float | None]) -> tuple[float, ...]:
        return tuple(math.nan if value is None else value for value in values)

    return Score(
        {name: numbers(values) for name, values in kept["values"].items()},
        numbers(kept["cpu_seconds"]),
        numbers(kept["fit_seconds"]),
        numbers(kept["predict_seconds"]),
        tuple(kept["peak_mib"]),
    )
