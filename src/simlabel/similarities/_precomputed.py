"""A matrix of similarities that the user has computed."""

from __future__ import annotations

from simlabel._utils.validation import check_flag
from simlabel.similarities._base import Similarity


class Precomputed(Similarity):
    """X is itself the matrix of similarities.

    In fit it is (n_rows, n_rows), between the labelled instances; later it is
    (n_queries, n_rows), between the queries and the labelled instances.

    Parameters
    ----------
    positive_definite : bool
        Your word that the matrix is of a positive definite kernel, which learned influence needs.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> S = [[1.0, 0.1], [0.1, 1.0]]
    >>> model = SMLClassifier(Precomputed()).fit(S, [{"sea"}, {"trees"}])
    >>> model.predict([[0.2, 0.7]])
    [{'trees'}]
    """

    name = "precomputed"
    file_key = "similarities.Precomputed"
    form = "precomputed"

    def __init__(self, positive_definite: bool = False) -> None:
        self.positive_definite = positive_definite

    def never_negative(self, rows: bool) -> bool:
        """Where no entry of the matrix is below 0."""
        return rows

    def check(self) -> None:
        """Raise where the word is neither True nor False."""
        check_flag("Precomputed", "positive_definite", self.positive_definite)
