"""The formats of data sets, their detection, and the features of a file in the columns of a model."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from simlabel.datasets._arff import ARFF
from simlabel.datasets._csv import CSV
from simlabel.datasets._errors import DatasetError, check_regular, quote
from simlabel.datasets._format import FeatureRequest, Features, Format, Head
from simlabel.datasets._numpy import NPY, NPZ
from simlabel.datasets._parquet import PARQUET
from simlabel.datasets._sparse_text import SVMLIGHT, XMC
from simlabel.datasets._text import open_bytes
from simlabel.support.validation import Rows

#: by name, in the order in which they are tried: any other text is CSV
FORMATS: dict[str, Format] = {one.name: one for one in (ARFF, SVMLIGHT, XMC, PARQUET, NPZ, NPY, CSV)}

_HEAD = 1 << 16  # bytes from which the format is detected


def find_format(path: Path, name: str | None = None) -> Format:
    """Return the format that the user names, or by default the one that the content shows."""
    if name is None:
        return detect_format(path)
    if name not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(map(repr, FORMATS))}, got {name!r}.")
    return FORMATS[name]


def detect_format(path: Path) -> Format:
    """Return the format that the content of a file shows."""
    with open_bytes(path) as stream:
        head = Head(stream.read(_HEAD))
    for one in FORMATS.values():
        if one.sniff(head):
            return one
    if head.begins("<"):
        raise DatasetError("expected a data set, found XML; load the ARFF file that it belongs to", path)
    raise DatasetError(f"expected a data set ({', '.join(FORMATS)}), found {quote(head.text[:40])}", path)


class FeatureChunks:
    """The features of a file, `rows` rows at a time, for files larger than memory.

    The meaning of the columns comes from the model, so that chunks do not depend on where they begin; labels
    in the file are not read.

    Parameters
    ----------
    path : path
        In any format that `load_dataset` reads.
    features : sequence of str, or int
        Names of the features that the model was fitted on; their number if it has no names.
    rows : int
        The number of rows at a time.
    format : str, optional
        By default it is detected from the content.
    delimiter : str, optional
        Of a CSV file.
    index_base : {0, 1}, optional
        Number of the first feature of an svmlight file, if the file does not show it.
    max_gib : float, optional
        How many GiB of memory the file may need; by default that depends on its size.

    Attributes
    ----------
    format : str
        The format of the file.
    unknown : int
        The number of texts that the model does not know; they are none of its categories.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "new.csv"
    >>> _ = path.write_text("hue,size\\nred,2\\nblue,3\\nred,4\\n")
    >>> [chunk.tolist() for chunk in FeatureChunks(path, ["size", "hue=blue", "hue=red"], 2)]
    [[[2.0, 0.0, 1.0], [3.0, 1.0, 0.0]], [[4.0, 0.0, 1.0]]]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        features: Features,
        rows: int,
        *,
        format: str | None = None,
        delimiter: str | None = None,
        index_base: int | None = None,
        max_gib: float | None = None,
    ) -> None:
        check_regular(path)
        self._format = find_format(Path(path), format)
        self._request = FeatureRequest(Path(path), features, rows, delimiter, index_base, max_gib)

    @property
    def format(self) -> str:
        return self._format.name

    @property
    def unknown(self) -> int:
        return self._request.unknown

    def count_rows(self) -> int:
        """Return the approximate number of rows of the file; 0 if it takes long to find out."""
        return self._format.count_rows(self._request.path)

    def __iter__(self) -> Iterator[Rows]:
        """Yield arrays or CSR arrays, (at most `rows`, n_features)."""
        return self._format.chunks(self._request)
