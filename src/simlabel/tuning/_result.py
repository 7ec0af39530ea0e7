"""What a search found."""

from __future__ import annotations

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


@dataclass(frozen=True)
class TuningResult:
    """The curve of a search.

    Attributes
    ----------
    parameters : tuple of str
        Nested names of what was "auto".
    candidates : tuple of dict
        What was tried, in order.
    criterion : str
        What was measured.
    values, errors : tuple of float
        Mean of the criterion for each candidate, and its standard error.
    best : dict
        The chosen candidate; empty where nothing was "auto".
    n_queries : int
        Number of rows that were scored.
    note : str
        In words, what is unusual about this search.
    n_rows : int
        Number of labelled rows that there were; 0 where that is not known.
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
        """Raise ValueError where the parts do not belong together."""
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
            raise ValueError(f"TuningResult: {self.criterion!r} for {self.parameters!r} is no curve.")

    def to_frame(self) -> pd.DataFrame:
        """One row per candidate, in rising order of the parameters.

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
        """The candidates in the form of scikit-learn's ``cv_results_``, in the order of the search.

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
        axes.axvline(self.best[name], linestyle="--", color="grey")
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
        """Whether the criterion is one to be made large, as the choice shows."""
        if not self.candidates:
            return True
        values = [value for value in self.values if value == value]
        at_best = self.values[self.candidates.index(self.best)]
        return not values or at_best >= max(values) - 1e-9


def search_results(
    params: Sequence[Mapping[str, Any]],
    scores: npt.ArrayLike,
    errors: npt.ArrayLike | None = None,
    ranks: npt.ArrayLike | None = None,
) -> dict[str, Any]:
    """What a search has tried, in the form of scikit-learn's ``cv_results_``: arrays of one length.

    Parameters
    ----------
    params : sequence of dict
        Each candidate.
    scores, errors : array, (n_candidates,)
        Mean score, the higher the better, and its standard error where there is one.
    ranks : array of int, (n_candidates,), optional
        By default those of the scores: 1 is best, equals share the first rank, and NaN comes last.

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
