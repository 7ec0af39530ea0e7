"""The data set that every reader returns, and parts of a set that are joined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.preprocessing import MultiLabelBinarizer

from simlabel._utils.validation import Rows, check_sparse
from simlabel.datasets._errors import DatasetError, quote
from simlabel.labels import moved

PartCodes = npt.NDArray[np.int8]

TRAIN, DEVELOPMENT, TEST = 0, 1, 2
# the names of parts in the names of files
PART_NAMES = {
    "train": TRAIN,
    "dev": DEVELOPMENT,
    "valid": DEVELOPMENT,
    "validation": DEVELOPMENT,
    "test": TEST,
}


class NumberedNames(Sequence[str]):
    """Names of columns without names: their numbers, as texts that are created on access.

    Examples
    --------
    >>> names = NumberedNames(2_000_000_000)
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
        if isinstance(other, NumberedNames):
            return len(self) == len(other)
        return isinstance(other, tuple) and len(self) == len(other) and tuple(self) == other

    def __repr__(self) -> str:
        return f"NumberedNames({len(self)})"


@dataclass(frozen=True, repr=False, eq=False)
class Dataset:
    """A multi-label data set.

    Attributes
    ----------
    name : str
        Its name.
    X : array of float or csr_array, (n_rows, n_columns)
        The features; sparse if the file is sparse.
    Y : csr_array of int8, (n_rows, n_labels)
        1 if the row has the label.
    label_names : sequence of str
        Names of the columns of `Y`: a tuple, or their numbers if the source has no names.
    feature_names : sequence of str
        Names of the columns of `X`, likewise.
    split : array of int8, (n_rows,), or None
        0 for the rows of the training part, 1 for development, 2 for test; None if the set has no parts.
    n_attributes : int
        The number of features in the source; a nominal one may be several columns of `X`.
    source : str
        The file or service that it was read from.

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
    split: PartCodes | None = None
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
        """The number of rows."""
        return int(self.X.shape[0])

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return len(self.label_names)

    @property
    def cardinality(self) -> float:
        """The mean number of labels in a row."""
        return float(self.Y.nnz / self.n_rows) if self.n_rows else 0.0

    @property
    def density(self) -> float:
        """The cardinality divided by the number of labels."""
        return self.cardinality / self.n_labels if self.n_labels else 0.0

    @property
    def distinct_label_sets(self) -> int:
        """The number of different rows of `Y`."""
        bounds = zip(self.Y.indptr[:-1], self.Y.indptr[1:], strict=True)
        return len({self.Y.indices[start:stop].tobytes() for start, stop in bounds})

    def facts(self) -> dict[str, Any]:
        """Return the numbers of rows, features and labels, the statistics of label sets, and the source."""
        return {
            "rows": self.n_rows,
            "features": self.n_attributes,
            "labels": self.n_labels,
            "cardinality": self.cardinality,
            "density": self.density,
            "distinct_label_sets": self.distinct_label_sets,
            "source": self.source,
        }

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


_PART = re.compile(rf"[-_.]({'|'.join(PART_NAMES)})(?=(?:-sparse)?$)", re.IGNORECASE)  # as Mulan names files


def stem(path: Path) -> str:
    """Return the name of a file without its endings.

    Examples
    --------
    >>> stem(Path("data/scene-train.arff.gz"))
    'scene-train'
    """
    name = path.name.removesuffix(".gz")
    return name.rpartition(".")[0] or name


def set_name(path: Path) -> str:
    """Return the name of the data set that a file belongs to.

    Examples
    --------
    >>> set_name(Path("data/scene-train.arff"))
    'scene'
    """
    return _PART.sub("", stem(path))


def part_number(path: Path) -> int | None:
    """Return the number of a part in the split, or None for a whole set.

    Examples
    --------
    >>> part_number(Path("data/Corel5k-test-sparse.arff")), part_number(Path("data/scene.arff"))
    (2, None)
    """
    found = _PART.search(stem(path))
    return None if found is None else PART_NAMES[found[1].lower()]


def join_parts(parts: Sequence[tuple[int, Dataset]]) -> Dataset:
    """Stack parts, each with its number in the split.

    Columns that have only numbers as names may be fewer in one part than in the other, since sparse files do
    not list what is absent.
    """
    datasets = [dataset for _, dataset in parts]
    first = datasets[0]
    sources = ", ".join(dataset.source for dataset in datasets)
    feature_names = _union([part.feature_names for part in datasets], "features", sources)
    label_names = _union([part.label_names for part in datasets], "labels", sources)
    X = [_spread(part.X, part.feature_names, feature_names) for part in datasets]
    Y = [_spread(part.Y, part.label_names, label_names) for part in datasets]
    return replace(
        first,
        X=sp.csr_array(sp.vstack(X, format="csr")) if any(map(sp.issparse, X)) else np.vstack(X),
        Y=sp.csr_array(sp.vstack(Y, format="csr")),
        label_names=label_names,
        feature_names=feature_names,
        split=np.repeat(np.array([part for part, _ in parts], dtype=np.int8), [d.n_rows for d in datasets]),
        n_attributes=max(dataset.n_attributes for dataset in datasets),
        source=sources,
    )


def _union(names: list[Sequence[str]], what: str, sources: str) -> Sequence[str]:
    """Return all names of columns."""
    longest = max(names, key=len)
    if all(own == longest for own in names):
        return longest
    if not all(name.isdecimal() for own in names for name in own):
        own, other = names[0], next(own for own in names if own != names[0])
        differing = sorted(set(own) ^ set(other)) or ["(their order)"]
        raise DatasetError(f"expected the same {what} in all parts; they differ in {differing[:5]}", sources)
    return tuple(sorted({name for own in names for name in own}, key=int))


def _spread(matrix: Rows, own: Sequence[str], names: Sequence[str]) -> Rows:
    """Move columns to their places among all names."""
    if own == names:
        return matrix
    place = {name: k for k, name in enumerate(names)}
    return moved(sp.csr_array(matrix), np.array([place[name] for name in own], dtype=np.int32), len(names))


@dataclass(frozen=True)
class LabelColumns:
    """How a table holds its labels; exactly one of the first three is given.

    Parameters
    ----------
    labels : sequence of str, optional
        Names of the columns that are labels, each 0 or 1.
    label_prefix : str, optional
        How the names of such columns begin.
    label_column : str, optional
        Name of one column that holds the labels of each row as a list.
    separator : str, default=";"
        Separator between the labels of such a list.
    """

    labels: Sequence[str] | None = None
    label_prefix: str | None = None
    label_column: str | None = None
    separator: str = ";"

    def positions(self, names: Sequence[str], path: Path) -> list[int]:
        """Return the positions of the columns with labels, in the order of the table."""
        choices = (self.labels, self.label_prefix, self.label_column)
        one = sum(choice is not None for choice in choices) == 1
        if not one or not self.separator or isinstance(self.labels, str | int):
            raise DatasetError(
                "expected one of labels=['sea', 'sunset'] (their names), "
                "label_prefix='label_' (how their names begin), label_column='tags' with separator=';' "
                f"(one column of lists). The columns are {quote(', '.join(names), 300)}",
                path,
            )
        requested = list(self.labels or ()) if self.label_column is None else [self.label_column]
        if self.label_prefix is not None:
            requested = [name for name in names if name.startswith(self.label_prefix)]
            if not requested:
                raise DatasetError(f"expected columns that begin with {quote(self.label_prefix)}", path, 1)
        position = {name: j for j, name in enumerate(names)}
        absent = [name for name in requested if name not in position]
        if absent or not requested:
            expected = f"label columns {', '.join(map(quote, absent))}"
            raise DatasetError(f"expected {expected}, found {quote(', '.join(names), 300)}", path, 1)
        return sorted({position[name] for name in requested})


def label_matrix(lists: Iterable[Sequence[Any]]) -> tuple[sp.csr_array, Sequence[Any]]:
    """Return the indicator matrix of lists of labels, and the labels that occur, sorted.

    Examples
    --------
    >>> Y, names = label_matrix([["sunset", "sea"], []])
    >>> names, Y.toarray().tolist()
    (('sea', 'sunset'), [[1, 1], [0, 0]])
    """
    binarizer = MultiLabelBinarizer(sparse_output=True)
    Y = sp.csr_array(binarizer.fit_transform(lists), dtype=np.int8)
    Y.sort_indices()
    return Y, tuple(binarizer.classes_.tolist())
