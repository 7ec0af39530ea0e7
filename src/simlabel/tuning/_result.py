"""What a search found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
    """

    parameters: tuple[str, ...]
    candidates: tuple[dict[str, Any], ...]
    criterion: str
    values: tuple[float, ...]
    errors: tuple[float, ...]
    best: dict[str, Any]
    n_queries: int
    note: str = ""

    def to_frame(self) -> pd.DataFrame:
        """One row per candidate, in rising order of the parameters.

        Examples
        --------
        >>> result = TuningResult(("gamma",), ({"gamma": 2.0}, {"gamma": 1.0}), "average_precision",
        ...                       (0.7, 0.8), (0.01, 0.01), {"gamma": 1.0}, 100)
        >>> result.to_frame()
           gamma  average_precision  standard_error
        0    1.0                0.8            0.01
        1    2.0                0.7            0.01
        """
        import pandas as pd

        frame = pd.DataFrame(list(self.candidates))
        frame[self.criterion] = self.values
        frame["standard_error"] = self.errors
        return frame.sort_values(list(self.parameters), ignore_index=True) if self.parameters else frame
