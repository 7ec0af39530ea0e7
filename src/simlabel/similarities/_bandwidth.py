"""What similarities of the form exp(-gamma * distance) share."""

from __future__ import annotations

from simlabel._utils.kernels import negative_exponential
from simlabel._utils.validation import FloatArray, Rows, check_number
from simlabel.similarities._base import Grid, Parameter, Similarity
from simlabel.similarities._grids import bandwidth_grid


class Bandwidth(Similarity):
    """A similarity that falls with a distance, as fast as gamma says."""

    positive_definite = True

    def __init__(self, gamma: Parameter = "auto") -> None:
        self.gamma = gamma

    @property
    def panel_parameters(self) -> tuple[Parameter, ...]:
        """Gamma."""
        return (self.gamma,)

    def never_negative(self, rows: bool) -> bool:
        """An exponential is above 0."""
        return True

    def check(self) -> None:
        """Raise ValueError where gamma is not positive."""
        check_number(type(self).__name__, "gamma", self.gamma, above=0, also=("auto",))

    def finish(self, T: FloatArray, q_side: FloatArray, x_side: FloatArray) -> FloatArray:
        """Distances to similarities, in place."""
        negative_exponential(T, T.dtype.type(self.gamma))
        return T

    def mean_distance(self, X: Rows, sample_weight: FloatArray | None, seed: int) -> float:
        """Mean distance over pairs of rows."""
        raise TypeError(f"{type(self).__name__} does not say how far rows are from each other.")

    def grids(self, X: Rows, sample_weight: FloatArray | None, seed: int) -> dict[str, Grid]:
        """A log grid around 1 / (mean distance)."""
        if self.gamma != "auto":
            return {}
        return {"gamma": bandwidth_grid(self.mean_distance(X, sample_weight, seed))}
