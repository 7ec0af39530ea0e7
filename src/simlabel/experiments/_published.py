"""The figures of the paper's two tables: mean and standard deviation over 10 folds.

Rossi, Ahmed, Eldardiry and Zhou, "Similarity-based Multi-label Learning". The set of the second
table, which the paper calls scene, has 2,000 images and 5 labels: it goes by the name of image.
"""

from __future__ import annotations

from dataclasses import dataclass

from simlabel.metrics import CRITERIA


@dataclass(frozen=True)
class Figure:
    """A published mean and standard deviation."""

    mean: float
    std: float

    def agrees(self, measured: float) -> bool:
        """Whether a measured mean lies within one published standard deviation.

        Examples
        --------
        >>> Figure(0.193, 0.013).agrees(0.200)
        True
        """
        return abs(measured - self.mean) <= self.std

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.std:.3f}"


def _row(*figures: tuple[float, float] | None) -> dict[str, Figure | None]:
    pairs = zip(CRITERIA, figures, strict=True)
    return {name: None if figure is None else Figure(*figure) for name, figure in pairs}


#: data set -> algorithm -> criterion -> figure (None where the paper has none)
PUBLISHED: dict[str, dict[str, dict[str, Figure | None]]] = {
    "yeast": {
        "SML": _row((0.193, 0.013), (0.220, 0.021), (6.082, 0.184), (0.155, 0.011), (0.783, 0.016)),
        "ML-kNN": _row((0.194, 0.010), (0.230, 0.030), (6.275, 0.240), (0.167, 0.016), (0.765, 0.021)),
        "BoosTexter": _row((0.220, 0.011), (0.278, 0.034), (6.550, 0.243), (0.186, 0.015), (0.737, 0.022)),
        "ADTBoost.MH": _row((0.207, 0.010), (0.244, 0.035), (6.390, 0.203), None, (0.744, 0.025)),
        "Rank-SVM": _row((0.207, 0.013), (0.243, 0.039), (7.090, 0.503), (0.195, 0.021), (0.749, 0.026)),
    },
    "image": {
        "SML": _row((0.140, 0.009), (0.252, 0.026), (0.984, 0.112), (0.164, 0.020), (0.852, 0.016)),
        "ML-kNN": _row((0.169, 0.016), (0.300, 0.046), (0.939, 0.100), (0.168, 0.024), (0.803, 0.027)),
        "BoosTexter": _row((0.179, 0.015), (0.311, 0.041), (0.939, 0.092), (0.168, 0.020), (0.798, 0.024)),
        "ADTBoost.MH": _row((0.193, 0.014), (0.375, 0.049), (1.102, 0.111), None, (0.755, 0.027)),
        "Rank-SVM": _row((0.253, 0.055), (0.491, 0.135), (1.382, 0.381), (0.278, 0.096), (0.682, 0.093)),
    },
}
