"""What AutoSML chooses from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import scipy.sparse as sp

from simlabel._utils.validation import Rows
from simlabel.normalizers import Normalizer, resolve_normalizer
from simlabel.ridge import INFLUENCES
from simlabel.similarities import RBF, SIMILARITIES, ChiSquare, Cosine, Laplacian, Polynomial, Similarity


@dataclass(frozen=True)
class Configuration:
    """A choice of stages."""

    normalizer: Any
    similarity: Similarity
    influence: str

    @property
    def steps(self) -> str | Normalizer | None:
        """The normalizer as a table shows it: a list of names as one."""
        return "+".join(self.normalizer) if isinstance(self.normalizer, list) else self.normalizer

    def __str__(self) -> str:
        return f"{self.steps} / {self.similarity!r} / {self.influence}"


def default_configurations(X: Rows, *, plain: bool = True) -> list[Configuration]:
    """The fixed list: what suits dense or sparse features, of any sign or not; plain sums where `plain`.

    Learned scores that become log-odds gain by that, and are compared before: plain sums that are ahead by
    little are behind in the end.

    Examples
    --------
    >>> for configuration in default_configurations(sp.csr_array([[1.0, 0.0]])):
    ...     print(configuration)
    l2 / RBF() / ridge
    zscore+l2 / RBF() / ridge
    l2 / Polynomial(coef0='auto', degree='auto') / ridge
    zscore+l2 / Polynomial(coef0='auto', degree='auto') / ridge
    l2 / RBF() / uniform
    zscore+l2 / RBF() / uniform
    l2 / Cosine() / uniform
    zscore+l2 / Cosine() / uniform
    """
    if sp.issparse(X):  # sums over coordinates would make rows dense
        normalizers: list[str | list[str]] = ["l2", ["zscore", "l2"]]
        learned: list[Similarity] = [RBF(), Polynomial("auto", "auto")]
        summed: list[Similarity] = [RBF(), Cosine()]
    else:
        normalizers = ["l2", ["zscore", "l2"], "zscore", "minmax", "quantile"]
        learned = [RBF(), Laplacian(), RBF() + Laplacian(), Polynomial("auto", "auto")]
        summed = [RBF(), Laplacian()]
    chosen = [Configuration(n, s, "ridge") for s in learned for n in normalizers if _goes_with(s, n)]
    if not sp.issparse(X) and (X.size == 0 or X.min() >= 0):
        chosen += [Configuration(n, ChiSquare(), "ridge") for n in ("l2", "minmax")]
    sums = [Configuration(n, s, "uniform") for s in summed for n in normalizers if _goes_with(s, n)]
    return chosen + sums if plain else chosen


def _goes_with(similarity: Similarity, normalizer: str | list[str]) -> bool:
    """Whether a pair is worth trying: inner products want rows of one length."""
    bounded = normalizer == "l2" or (isinstance(normalizer, list) and normalizer[-1] == "l2")
    return bounded or not isinstance(similarity, Cosine | Polynomial)


def checked_configurations(given: Sequence[Any]) -> list[Configuration]:
    """What the user gave to choose from: (normalizer, similarity, influence), names or objects."""
    for one in given:
        if not isinstance(one, list | tuple) or len(one) != 3:
            raise ValueError(
                f"AutoSMLClassifier: a configuration is (normalizer, similarity, influence), got {one!r}."
            )
    configurations = [Configuration(n, SIMILARITIES.resolve(s), i) for n, s, i in given]
    if not configurations:
        raise ValueError("AutoSMLClassifier: configurations is empty; give at least one, or None.")
    for one in configurations:
        if one.similarity.form == "precomputed":
            raise ValueError(
                "AutoSMLClassifier compares similarities on features, of which a precomputed matrix has "
                "none; use SMLClassifier('precomputed')."
            )
        resolve_normalizer(one.normalizer)
        one.similarity.check()
        INFLUENCES.resolve(one.influence).check_similarity(one.similarity, None)
    return configurations
