"""What every reader gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.validation import Rows, check_sparse

Split = npt.NDArray[np.int8]

TRAIN, DEVELOPMENT, TEST = 0, 1, 2
# how the parts of a set are called in the names of files
PARTS = {"train": TRAIN, "dev": DEVELOPMENT, "valid": DEVELOPMENT, "validation": DEVELOPMENT, "test": TEST}


class Numbered(Sequence[str]):
    """Names for columns that have none: their numbers, made when they are looked at.

    Examples
    --------
    >>> names = Numbered(2_000_000_000)
    >>> names[7], names[-1], names[:3]
    ('7', '1999999999', ('0', '1', '2'))
    """

    def __init__(self, count: int) -> None:
        self._numbers = range(count)

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, position: int) -> str: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[str, ...]: ...
    def __getitem__(self, position: int | slice) -> str | tuple[str, ...]:
        found = self._numbers[position]
        return str(found) if isinstance(found, int) else tuple(map(str, found))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Numbered):
            return len(self) == len(other)
        return isinstance(other, tuple) and len(self) == len(other) and tuple(self) == other

    def __hash__(self) -> int:
        return hash(self._numbers)

    def __repr__(self) -> str:
        return f"Numbered({len(self)})"


@dataclass(frozen=True, repr=False, eq=False)
class Dataset:
    """A multi-label data set.

    Attributes
    ----------
    name : str
        What it is called.
    X : array of float or csr_array, (n_rows, n_columns)
        The features; sparse where the file is sparse.
    Y : csr_array of int8, (n_rows, n_labels)
        1 where the row has the label.
    label_names : sequence of str
        Names of the columns of `Y`; a tuple, or their numbers where the source has no names.
    feature_names : sequence of str
        Names of the columns of `X`, likewise.
    split : array of int8, (n_rows,), or None
        0 for the rows of the training part, 1 for development, 2 for test, where the set comes in parts.
    n_attributes : int
        Features as the source counts them; a nominal one may be several columns of `X`.
    source : str
        Where it was read from.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> Y = sp.csr_array(np.array([[1, 0], [1, 1], [1, 0]], dtype=np.int8))
    >>> beach = Dataset("beach", np.eye(3), Y, ("sea", "sunset"), ("a", "b", "c"))
    >>> beach
    Dataset('beach': 3 rows x 3 features (dense), 2 labels, 1.333 per row, 2 distinct sets)
    >>> round(beach.density, 3)
    0.667
    """

    name: str
    X: Rows
    Y: sp.csr_array
    label_names: Sequence[str]
    feature_names: Sequence[str]
    split: Split | None = None
    n_attributes: int = -1
    source: str = ""

    def __post_init__(self) -> None:
        for side in ("X", "Y"):
            if sp.issparse(getattr(self, side)):
                object.__setattr__(self, side, check_sparse(getattr(self, side), side))
        if self.n_attributes < 0:
            object.__setattr__(self, "n_attributes", self.X.shape[1])
        facts = {
            "rows of X and Y": (self.X.shape[0], self.Y.shape[0]),
            "columns of X and feature names": (self.X.shape[1], len(self.feature_names)),
            "columns of Y and label names": (self.Y.shape[1], len(self.label_names)),
        }
        if self.split is not None:
            facts["rows of X and entries of split"] = (self.X.shape[0], len(self.split))
        for what, (one, other) in facts.items():
            if one != other:
                raise ValueError(f"Dataset {self.name!r}: {what} differ in number, {one} against {other}.")

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.label_names)

    @property
    def cardinality(self) -> float:
        """Mean number of labels in a row."""
        return float(self.Y.nnz / self.n_rows) if self.n_rows else 0.0

    @property
    def density(self) -> float:
        """Cardinality as a share of the number of labels."""
        return self.cardinality / self.n_labels if self.n_labels else 0.0

    @property
    def distinct_label_sets(self) -> int:
        """Number of different rows of `Y`."""
        bounds = zip(self.Y.indptr[:-1], self.Y.indptr[1:], strict=True)
        return len({self.Y.indices[start:stop].tobytes() for start, stop in bounds})

    def __repr__(self) -> str:
        kind = "sparse" if sp.issparse(self.X) else "dense"
        sizes = f"{self.n_rows} rows x {self.n_attributes} features ({kind}), {self.n_labels} labels"
        sets = f"{self.cardinality:.3f} per row, {self.distinct_label_sets} distinct sets"
        return f"Dataset({self.name!r}: {sizes}, {sets}{self._parts()})"

    def _parts(self) -> str:
        if self.split is None:
            return ""
        words = {TRAIN: "train", DEVELOPMENT: "development", TEST: "test"}
        counts = [(word, int(np.count_nonzero(self.split == part))) for part, word in words.items()]
        return "; " + " + ".join(f"{count} {word}" for word, count in counts if count)
