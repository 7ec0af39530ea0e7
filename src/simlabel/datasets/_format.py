"""A file format as one record, and what a reader gets to see: the head of a file, the columns of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simlabel._utils.validation import Rows
from simlabel.datasets._columns import Place
from simlabel.datasets._dataset import Dataset
from simlabel.datasets._errors import DatasetError
from simlabel.datasets._feature_map import FeatureMap
from simlabel.datasets._gather import WIDE, SparseRows

NAMES = "names with commas between"  # how the labels of a table are told
Features = Sequence[str] | int  # names, or only how many where the model knows no names


class Head:
    """The beginning of a file.

    Attributes
    ----------
    raw : bytes
    text : str
    lines : list of str
        Those that are not blank; none where the file is not text.
    row : str
        The first of them that is no comment (``#``), or nothing.
    """

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.text = raw.decode("utf-8-sig", "simlabel-latin-1")
        self.lines = [] if "\x00" in self.text else [line for line in self.text.splitlines() if line.strip()]
        self.row = next((line for line in self.lines if not line.lstrip().startswith("#")), "")

    def begins(self, *marks: str) -> bool:
        """Whether it is text that begins with one of these."""
        return bool(self.lines) and self.lines[0].lstrip().startswith(marks)


@dataclass
class Wanted:
    """What `Format.chunks` is asked for: the rows of a file in the columns of a model, `rows` at a time.

    The fields are the parameters of `FeatureChunks`.
    """

    path: Path
    features: Features
    rows: int
    delimiter: str | None = None
    index_base: int | None = None
    max_gib: float | None = None
    map: FeatureMap | None = field(default=None, init=False)

    @property
    def width(self) -> int:
        """How many features the model has."""
        return self.features if isinstance(self.features, int) else len(self.features)

    def mapped(self, names: Sequence[str]) -> FeatureMap:
        """Which column of the file is which feature of the model."""
        if isinstance(self.features, int):
            raise DatasetError(
                f"has names of columns, but the model knows only that it has {self.features} features; "
                "give it rows in a format that has no names, as it was fitted on",
                self.path,
            )
        self.map = FeatureMap(self.features, names, self.path)
        return self.map

    def is_dense(self, n_columns: int) -> bool:
        """Whether chunks of a table of so many columns are better dense."""
        return self.width <= WIDE * max(1, n_columns)

    def blocks(self, places: Iterable[list[Place]], *, dense: bool) -> Iterator[Rows]:
        """Arrays or CSR arrays, (at most `rows`, `width`), of rows that come as columns and numbers."""
        chunk = SparseRows(with_values=True)
        for row in places:
            chunk.add([column for column, _ in row], [number for _, number in row])
            if len(chunk) == self.rows:
                yield self._block(chunk, dense)
                chunk = SparseRows(with_values=True)
        if len(chunk):
            yield self._block(chunk, dense)

    def _block(self, chunk: SparseRows, dense: bool) -> Rows:
        X = chunk.finish(self.width)
        return X.toarray() if dense else X


def count_lines(path: Path) -> int:
    """How many lines a text file has; 0 where it is packed, which is not quickly told."""
    if path.suffix == ".gz":
        return 0
    with path.open("rb") as stream:
        return sum(part.count(b"\n") for part in iter(lambda: stream.read(1 << 20), b""))


def split_names(text: str) -> Any:
    """Names with commas between.

    Examples
    --------
    >>> split_names("sea, sunset")
    ['sea', 'sunset']
    """
    return [name.strip() for name in text.split(",")]


@dataclass(frozen=True)
class Format:
    """A file format. Detection, loading, chunks, the catalogue and the help are derived from its record.

    Attributes
    ----------
    name : str
        As it is asked for.
    title : str
        What it is.
    endings : tuple of str
        With which names of files end, ``.gz`` apart.
    sniff : callable
        Whether the head of a file shows it.
    read : callable
        From a path, and options as keywords, to a data set.
    chunks : callable
        From what is wanted to arrays or CSR arrays, a few rows each; labels are not read.
    labels : str
        How a user tells which columns are labels; empty where every file says it.
    parse_labels : callable
        From that, as a text, to the option ``labels`` of `read`.
    count_rows : callable
        About how many rows a file has; 0 where that is not quickly told.
    """

    name: str
    title: str
    endings: tuple[str, ...]
    sniff: Callable[[Head], bool]
    read: Callable[..., Dataset]
    chunks: Callable[[Wanted], Iterator[Rows]]
    labels: str = ""
    parse_labels: Callable[[str], Any] = split_names
    count_rows: Callable[[Path], int] = count_lines

    def has_ending(self, name: str) -> bool:
        """Whether a file of that name would have this format."""
        return name.lower().removesuffix(".gz").endswith(self.endings)
