"""Any Python function as a similarity, of vectors or of any objects."""

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
        Rows are vectors, or whatever objects X is a list of: strings, sets, graphs.
        Sparse rows are handed over as dense vectors, block by block.
    blockwise : bool
        Whether `fn` takes two blocks. Far quicker where it can be written so.
    positive_definite : bool
        Your word that the function is a positive definite kernel, which learned influence needs.
    nonnegative : bool
        Your word that the function is never below 0: `decision_function` then gives shares of the
        similarity, which can be compared between queries, in place of plain sums.

    See Also
    --------
    Precomputed : Where similarities are known already.

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
        """Raise TypeError where `fn` cannot be called."""
        if not callable(self.fn):
            raise TypeError(f"Function: fn must be callable, got {self.fn!r}.")
        check_flag("Function", "blockwise", self.blockwise)
        check_flag("Function", "positive_definite", self.positive_definite)
        check_flag("Function", "nonnegative", self.nonnegative)

    def never_negative(self, rows: bool) -> bool:
        """As you say."""
        return self.nonnegative

    @property
    def statistic_key(self) -> Hashable:
        """Two of them are the same only if they are one object's function."""
        return self.form, id(self.fn), self.blockwise

    def block(self, A: Rows, B: Rows) -> FloatArray:
        """Similarities of all pairs, (len(A), len(B)), checked."""
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
        S = np.array(S, dtype=np.float64)  # a copy: the caller's array is not ours to change
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
                        f"If it takes whole blocks, say Function(fn, blockwise=True)."
                    ) from None
        return S

    @property
    def _label(self) -> str:
        return getattr(self.fn, "__name__", None) or repr(self.fn)


def _short(value: Any) -> str:
    text = repr(value).replace("\n", " ")
    return text if len(text) <= 60 else text[:57] + "..."
