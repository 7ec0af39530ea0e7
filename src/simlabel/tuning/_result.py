"""The result of a search: its curve, and a warning if it says little."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from simlabel._utils.validation import check_number

if TYPE_CHECKING:
    import pandas as pd

_FEWEST_QUERIES = 50  # scored rows: with fewer, a curve is noise
_NOISE = 0.25  # of a standard error: candidates are scored on the same rows, so they differ by less
_SMALL = 1e-3  # of the criterion, if it has no standard error
_NEARLY_PERFECT = 0.05  # from perfect: little can be gained
_SCALES = ("gamma", "penalty")  # without natural bounds; other grids end where the method does


@dataclass(frozen=True)
class TuningResult:
    """The curve of a search.

    Attributes
    ----------
    parameters : tuple of str
        Nested names of the "auto" parameters.
    candidates : tuple of dict
        Candidates, in the order in which they were tried.
    criterion : str
        Name of the metric.
    values, errors : tuple of float
        Mean of the criterion for each candidate, and its standard error.
    best : dict
        The chosen candidate; empty if nothing was "auto".
    n_queries : int
        Number of rows that were scored.
    note : str
        What is unusual about this search.
    n_rows : int
        Number of labeled rows; 0 if unknown.
    """

    file_key: ClassVar[str] = "tuning.TuningResult"

    parameters: tuple[str, ...]
    candidates: tuple[dict[str, Any], ...]
    criterion: str
    values: tuple[float, ...]
    errors: tuple[float, ...]
    best: dict[str, Any]
    n_queries: int
    note: str = ""
    n_rows: int = 0

    def check(self) -> None:
        """Raise ValueError if the parts do not fit each other."""
        lists = (self.parameters, self.candidates, self.values, self.errors)
        for name in ("n_queries", "n_rows"):
            check_number("TuningResult", name, getattr(self, name), at_least=0, integer=True)
        good = (
            all(isinstance(each, tuple) for each in lists)
            and all(isinstance(each, dict) for each in (*self.candidates, self.best))
            and len(self.candidates) == len(self.values) == len(self.errors)
            and all(isinstance(each, str) for each in (*self.parameters, self.criterion, self.note))
            and all(isinstance(each, numbers.Real) for each in (*self.values, *self.errors))
            and (self.best in self.candidates or not self.candidates)
        )
        if not good:
            raise ValueError(
                f"TuningResult: {self.criterion!r} for {self.parameters!r} is not a valid curve."
            )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per candidate, in increasing order of the parameters.

        Examples
        --------
        >>> result = TuningResult(("gamma",), ({"gamma": 2.0}, {"gamma": 1.0}), "average_precision",
        ...                       (0.7, 0.8), (0.01, 0.01), {"gamma": 1.0}, 100)
        >>> print(result.to_frame().to_string())
           gamma  average_precision  standard_error
        0    1.0                0.8            0.01
        1    2.0                0.7            0.01
        """
        import pandas as pd

        frame = pd.DataFrame(list(self.candidates))
        frame[self.criterion] = self.values
        frame["standard_error"] = self.errors
        return frame.sort_values(list(self.parameters), ignore_index=True) if self.parameters else frame

    def cv_results(self) -> dict[str, Any]:
        """Return the candidates in the form of scikit-learn's ``cv_results_``, in the order of the search.

        Returns
        -------
        dict
            ``params`` (a list of dicts), ``param_...`` (masked arrays), ``mean_test_score`` (the higher the
            better: losses are negative), ``standard_error_test_score`` and ``rank_test_score`` (1 is best).

        Examples
        --------
        >>> result = TuningResult(("gamma",), ({"gamma": 2.0}, {"gamma": 1.0}), "average_precision",
        ...                       (0.7, 0.8), (0.01, 0.01), {"gamma": 1.0}, 100)
        >>> result.cv_results()["rank_test_score"]
        array([2, 1])
        """
        sign = 1.0 if self.higher_is_better else -1.0
        return search_results(self.candidates, sign * np.array(self.values, dtype=np.float64), self.errors)

    def plot(self, axes: Any = None) -> Any:
        """Draw the criterion against the first parameter, the best of the others at each value.

        Parameters
        ----------
        axes : matplotlib Axes, optional
            Where to draw; new ones by default.

        Returns
        -------
        matplotlib Axes
        """
        if not self.parameters:
            raise ValueError("There is no curve: nothing was tuned.")
        import matplotlib.pyplot as plt

        axes = plt.subplots()[1] if axes is None else axes
        name = self.parameters[0]
        frame = self.to_frame().dropna(subset=[self.criterion])
        good = frame.groupby(name)[self.criterion]
        chosen = frame.loc[good.idxmax() if self.higher_is_better else good.idxmin()]
        axes.errorbar(
            chosen[name], chosen[self.criterion], yerr=chosen["standard_error"].fillna(0.0), marker="o"
        )
        axes.axvline(self.best[name], linestyle="--", color="gray")
        if (chosen[name] > 0).all():
            axes.set_xscale("log")
        axes.set_xlabel(name)
        axes.set_ylabel(self.criterion.replace("_", " "))
        return axes

    @property
    def best_value(self) -> float:
        """Value of the chosen candidate; NaN if none was measured."""
        return self.values[self.candidates.index(self.best)] if self.candidates else float("nan")

    @property
    def best_error(self) -> float:
        """Standard error of that value."""
        return self.errors[self.candidates.index(self.best)] if self.candidates else float("nan")

    @property
    def higher_is_better(self) -> bool:
        """Whether the criterion is to be maximized, as the choice shows."""
        if not self.candidates:
            return True
        values = [value for value in self.values if value == value]
        return not values or self.best_value >= max(values) - 1e-9


def search_results(
    params: Sequence[Mapping[str, Any]],
    scores: npt.ArrayLike,
    errors: npt.ArrayLike | None = None,
    ranks: npt.ArrayLike | None = None,
) -> dict[str, Any]:
    """Return the candidates in the form of scikit-learn's ``cv_results_``: arrays of equal length.

    Parameters
    ----------
    params : sequence of dict
        Each candidate.
    scores, errors : array, (n_candidates,)
        Mean score, the higher the better, and its standard error if there is one.
    ranks : array of int, (n_candidates,), optional
        By default the ranks of the scores: 1 is best, equals share the first rank, and NaN comes last.

    Examples
    --------
    >>> search_results([{"C": 1.0}, {"C": 2.0}], [0.7, 0.8])["param_C"].tolist()
    [1.0, 2.0]
    """
    results: dict[str, Any] = {}
    for name in dict.fromkeys(name for one in params for name in one):
        column = np.ma.masked_all(len(params), dtype=object)
        for row, one in enumerate(params):
            if name in one:
                column[row] = one[name]
        results[f"param_{name}"] = column
    means = np.asarray(scores, dtype=np.float64)
    results |= {"params": [dict(one) for one in params], "mean_test_score": means}
    if errors is not None:
        results["standard_error_test_score"] = np.asarray(errors, dtype=np.float64)
    if ranks is None:
        ranks = rankdata(np.where(np.isnan(means), np.inf, -means), method="min")
    return results | {"rank_test_score": np.asarray(ranks, dtype=np.int64)}


def curve_problem(curve: TuningResult) -> str:
    """Return why the chosen value means little, or may be surpassed beyond the grid; "" if nothing is wrong.

    Examples
    --------
    >>> tried = tuple({"gamma": gamma} for gamma in (1.0, 2.0, 4.0))
    >>> given = ("gamma",), tried, "average_precision"
    >>> errors = (0.01, 0.01, 0.01)
    >>> curve_problem(TuningResult(*given, (0.6, 0.7, 0.65), errors, tried[1], 100))
    ''
    >>> curve_problem(TuningResult(*given, (0.6, 0.7, 0.75), errors, tried[2], 100))
    'gamma=4 is the largest value tried, and the best: average precision may be better beyond. Set it ...'
    """
    values = np.array(curve.values, dtype=float)
    if curve.n_queries < _FEWEST_QUERIES or np.isfinite(values).sum() < 3:
        return ""
    higher, best, error = curve.higher_is_better, curve.best_value, curve.best_error
    if not math.isfinite(best) or abs(best - (1.0 if higher else 0.0)) <= _NEARLY_PERFECT:
        return ""
    little = _SMALL * abs(best) if math.isnan(error) else _NOISE * error
    criterion = curve.criterion.replace("_", " ")
    if np.nanmax(values) - np.nanmin(values) <= little:
        names = " and ".join(name.rpartition("__")[2] for name in curve.parameters)
        return (
            f"whatever {names} is, {criterion} is {best:.3g}: the features appear to be uninformative under "
            f"this similarity. Try another normalizer or similarity, or AutoSMLClassifier()."
        )
    for name in curve.parameters:
        short, tried = name.rpartition("__")[2], np.array([one[name] for one in curve.candidates])
        if short not in _SCALES or len(np.unique(tried)) < 3:
            continue
        chosen = curve.best[name]
        inside = values[tried != chosen]
        gain = abs(best - float(np.nanmax(inside) if higher else np.nanmin(inside)))
        if chosen in (tried.min(), tried.max()) and gain > little:
            edge = "smallest" if chosen == tried.min() else "largest"
            return (
                f"{short}={chosen:.3g} is the {edge} value tried, and the best: {criterion} may be better "
                f"beyond. Set it yourself, or try another normalizer or similarity, or AutoSMLClassifier()."
            )
    return ""
