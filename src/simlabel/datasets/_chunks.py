"""Features of a file a few rows at a time, in the columns of a fitted model: for files beyond memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from simlabel._utils.validation import Rows
from simlabel.datasets._errors import check_regular
from simlabel.datasets._format import Features, Wanted
from simlabel.datasets._formats import find_format


class FeatureChunks:
    """The features of a file, `rows` rows at a time.

    What the columns mean comes from the model, so that a chunk looks the same wherever it begins; labels in
    the file are not read.

    Parameters
    ----------
    path : path
        In any format that `load_dataset` reads.
    features : sequence of str, or int
        Names of the features that the model was fitted on; their number where it knows no names.
    rows : int
        How many at a time.
    format : str, optional
        By default as the content says.
    delimiter : str, optional
        Of a CSV file.
    index_base : {0, 1}, optional
        Number of the first feature of an svmlight file, where the file does not show it.
    max_gib : float, optional
        How many GiB of memory the file may ask for; by default that depends on its size.

    Attributes
    ----------
    format : str
        The format that the file has.
    unknown : int
        How many texts the model did not know; they are none of its categories.

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
        self._wanted = Wanted(Path(path), features, rows, delimiter, index_base, max_gib)

    @property
    def format(self) -> str:
        return self._format.name

    @property
    def unknown(self) -> int:
        return 0 if self._wanted.map is None else self._wanted.map.unknown

    def count_rows(self) -> int:
        """About how many rows the file has; 0 where that is not quickly told."""
        return self._format.count_rows(self._wanted.path)

    def __iter__(self) -> Iterator[Rows]:
        """Arrays or CSR arrays, (at most `rows`, n_features)."""
        return self._format.chunks(self._wanted)
