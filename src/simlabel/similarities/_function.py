"""Similarities given by the user: a Python function, or the matrix itself."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from simlabel._utils.rows import dense_rows
from simlabel._utils.validation import FloatArray, Rows, check_flag
from simlabel.similarities._base import Similarity


class Function(Similarity):
    """A similarity given as a function.

    Parameters
    ----------
    fn : callable
        ``fn(a, b) -> float`` of two rows, or with `blockwise` ``fn(A, B) -> (len(A), len(B))``.
        Rows are vectors, or the objects in the list X: strings, sets, graphs.
        Sparse rows are converted to dense vectors, block by block.
    blockwise : bool
        Whether `fn` takes two blocks of rows, which is much faster.
    positive_definite : bool
        Declare that the function is a positive definite kernel, which learned influence needs.
    nonnegative : bool
        Declare that the function is never below 0: `decision_function` then returns shares of the
        total similarity, which are comparable between queries, in place of plain sums.

    See Also
    --------
    Precomputed : A matrix of similarities.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> def shared_letters(a, b):
    ...     return len(set(a) & set(b)) / len(set(a) | set(b))
    >>> model = SMLClassifier(Function(shared_letters)).fit(["sea", "tree"], [{"water"}, {"plant"}])
    >>> model.predict(["trees"])
    [{'plant'}]
    """

    name = "function"
    file_key = "similarities.Function"
    form = "block"

    def __init__(
        self,
        fn: Callable[[Any, Any], Any],
        *,
        blockwise: bool = False,
        positive_definite: bool = False,
        nonnegative: bool = False,
    ) -> None:
        self.fn = fn
        self.blockwise = blockwise
        self.positive_definite = positive_definite
        self.nonnegative = nonnegative

    def check(self) -> None:
        """Raise TypeError if `fn` is not callable or a flag is not a bool."""
        if not callable(self.fn):
            raise TypeError(f"Function: fn must be callable, got {self.fn!r}.")
        check_flag("Function", "blockwise", self.blockwise)
        check_flag("Function", "positive_definite", self.positive_definite)
        check_flag("Function", "nonnegative", self.nonnegative)

    def never_negative(self, rows: bool) -> bool:
        """Return what the user has declared."""
        return self.nonnegative

    @property
    def statistic_key(self) -> Hashable:
        """Identify the statistic by the identity of the function."""
        return self.form, id(self.fn), self.blockwise

    def block(self, A: Rows, B: Rows) -> FloatArray:
        """Compute the similarities of all pairs, (len(A), len(B)), and check them."""
        A, B = dense_rows(A), dense_rows(B)
        shape = (len(A), len(B))
        if self.blockwise:
            S = np.asarray(self.fn(A, B))
            if S.shape != shape:
                raise ValueError(
                    f"Function: {self._label} returned shape {S.shape} "
                    f"for blocks of {shape[0]} and {shape[1]} rows; expected {shape}."
                )
        else:
            S = self._pairs(A, B, shape)
        S = np.array(S, dtype=np.float64)  # a copy, since engines change it in place
        if not np.isfinite(S).all():
            i, j = np.argwhere(~np.isfinite(S))[0]
            raise ValueError(
                f"Function: {self._label} returned {S[i, j]} for the pair {_short(A[i])} and {_short(B[j])}; "
                f"expected a finite number."
            )
        return S

    def _pairs(self, A: Rows, B: Rows, shape: tuple[int, int]) -> FloatArray:
        S = np.empty(shape)
        for i, a in enumerate(A):
            for j, b in enumerate(B):
                value = self.fn(a, b)
                try:
                    S[i, j] = value
                except (TypeError, ValueError):
                    raise ValueError(
                        f"Function: {self._label} returned {_short(value)} for one pair; expected a number. "
                        f"If it takes whole blocks, use Function(fn, blockwise=True)."
                    ) from None
        return S

    @property
    def _label(self) -> str:
        return getattr(self.fn, "__name__", None) or repr(self.fn)


def _short(value: Any) -> str:
    text = repr(value).replace("\n", " ")
    return text if len(text) <= 60 else text[:57] + "..."


class Precomputed(Similarity):
    """The similarities themselves as X.

    In fit it is (n_rows, n_rows), between the labeled instances; later it is
    (n_queries, n_rows), between the queries and the labeled instances.

    Parameters
    ----------
    positive_definite : bool
        Declare that the matrix is of a positive definite kernel, which learned influence needs.

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
        """Whether no entry of the matrix is below 0."""
        return rows

    def check(self) -> None:
        """Raise if `positive_definite` is neither True nor False."""
        check_flag("Precomputed", "positive_definite", self.positive_definite)
