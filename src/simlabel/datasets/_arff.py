"""ARFF, dense and sparse, with labels as Mulan or MEKA mark them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import arff

from simlabel._utils.validation import Rows
from simlabel.datasets._arff_header import Header, read_header, unescape, without_comment
from simlabel.datasets._columns import TableColumns
from simlabel.datasets._dataset import Dataset
from simlabel.datasets._errors import DatasetError, quote
from simlabel.datasets._features import Missing, check_missing, impute
from simlabel.datasets._format import NAMES, Format, Wanted, split_names
from simlabel.datasets._gather import gather
from simlabel.datasets._lines import numbered_lines, set_name
from simlabel.datasets._meka import label_count, label_positions
from simlabel.datasets._mulan import read_label_names, xml_beside

Labels = int | str | PathLike[str] | Sequence[str] | None


def read_arff(
    path: Path, *, labels: Labels = None, missing: Missing = "error", max_gib: float | None = None
) -> Dataset:
    """Read an ARFF file.

    Parameters
    ----------
    path : path
        The file, plain or gzip.
    labels : int, path or sequence of str, optional
        Which attributes are labels: the first n, or the last n for ``-n``; the path of a Mulan XML file;
        or their names. By default, the XML file beside the file, or else ``-C n`` in the relation name.
    missing : {"error", "mean", "median", "most_frequent"}
        What becomes of a missing feature.
    max_gib : float, optional
        How many GiB of memory the file may ask for; by default that depends on its size.
    """
    check_missing(missing)
    lines = numbered_lines(path, max_gib)
    header = read_header(lines, path)
    positions = _label_positions(header, path, labels)
    columns = TableColumns(header.attributes, positions, path, missing)
    X, Y = gather(_ArffRows(lines, len(header.attributes), path), columns)
    return Dataset(
        name=set_name(path),
        X=impute(X, missing),
        Y=Y,
        label_names=columns.label_names,
        feature_names=columns.feature_names,
        n_attributes=columns.n_features,
        source=str(path),
    )


def _label_positions(header: Header, path: Path, labels: Labels) -> list[int]:
    n_attributes = len(header.attributes)
    if labels is None:
        labels = xml_beside(path)
    if labels is None:
        labels = label_count(header.relation)
    if labels is None:
        raise DatasetError(
            f"expected to learn which attributes are labels: from {set_name(path)}.xml beside it (Mulan), "
            "from '-C n' in its @relation (MEKA), or from labels= (an XML file, a number, or names)",
            path,
        )
    if isinstance(labels, int):
        return label_positions(labels, n_attributes, path)
    if isinstance(labels, str | PathLike):
        xml = Path(labels)
        return _positions_of(header, read_label_names(xml), path, xml)
    return _positions_of(header, dict.fromkeys(labels, 0), path, None)


def _positions_of(header: Header, names: dict[str, int], path: Path, xml: Path | None) -> list[int]:
    """Positions of the named attributes, in the order of the file."""
    position = {attribute.name: j for j, attribute in enumerate(header.attributes)}
    # Mulan's tools copy a quoted name into the XML file with its backslashes.
    plain = {unescape(name): j for name, j in position.items()}
    labels = set()
    for name, line in names.items():
        j = position.get(name, plain.get(unescape(name)))
        if j is None:
            message = f"expected labels that are attributes of {path.name}; {quote(name)} is none"
            raise DatasetError(message, xml or path, line or None)
        labels.add(j)
    return sorted(labels)


class _ArffRows:
    """Rows of the data section, read by liac-arff; knows the line it is on."""

    def __init__(self, lines: Iterator[tuple[int, str]], n_attributes: int, path: Path) -> None:
        self.path = path
        self.size = path.stat().st_size
        self.line = 0
        self._text = ""
        self._n_attributes = n_attributes
        self._rest = self._data(lines)
        self._first = next(self._rest, None)
        self.sparse = self._first is not None and self._first.startswith("{")

    def _data(self, lines: Iterator[tuple[int, str]]) -> Iterator[str]:
        for number, line in lines:
            self._text = without_comment(line).strip()
            self.line = number
            if self._text:
                yield self._text

    def _declared(self) -> Iterator[str]:
        """A header in which all is text, so that conversion and its errors are ours, and then the rows."""
        yield "@relation rows"
        for j in range(self._n_attributes):
            yield f"@attribute a{j} string"
        yield "@data"
        if self._first is not None:
            yield self._first
            yield from self._rest

    def __iter__(self) -> Iterator[Any]:
        kind = arff.LOD_GEN if self.sparse else arff.DENSE_GEN
        decoded = iter(arff.ArffDecoder().decode(self._declared(), return_type=kind)["data"])
        while True:
            try:
                row = next(decoded, None)
            except DatasetError:
                raise
            except (arff.ArffException, ValueError, csv.Error):
                raise self._malformed() from None
            if row is None:
                return
            if self._text.startswith("{") != self.sparse:
                raise self._malformed()
            if self.sparse:
                self._check_indices(row)
            yield row

    def _malformed(self) -> DatasetError:
        if self.sparse:
            expected = f"a sparse row {{index value, ...}} with indices below {self._n_attributes}"
        else:
            expected = f"{self._n_attributes} values separated by commas"
        return DatasetError(f"expected {expected}, found {quote(self._text)}", self.path, self.line)

    def _check_indices(self, row: dict[int, str]) -> None:
        # liac-arff keeps the last of several values for one index
        if 0 < len(row) <= self._text.count(",") and "'" not in self._text and '"' not in self._text:
            found = quote(self._text)
            raise DatasetError(f"expected each index once in a row, found {found}", self.path, self.line)


def _chunks(wanted: Wanted) -> Iterator[Rows]:
    lines = numbered_lines(wanted.path, wanted.max_gib)
    header = read_header(lines, wanted.path)
    names = [attribute.name for attribute in header.attributes]
    columns = wanted.mapped(names)
    rows = _ArffRows(lines, len(names), wanted.path)
    if not rows.sparse:
        places = (columns.places(enumerate(row), names, rows.line) for row in rows)
        return wanted.blocks(places, dense=wanted.is_dense(len(names)))
    # what a sparse row leaves out is the first value of a nominal attribute, and 0 of a numeric one
    implied = {j: attribute.values[0] for j, attribute in enumerate(header.attributes) if attribute.values}
    places = (columns.places((implied | row).items(), names, rows.line) for row in rows)
    return wanted.blocks(places, dense=False)


def _parse_labels(text: str) -> Labels:
    """A number, the path of an XML file, or names."""
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    return text if text.lower().endswith(".xml") else split_names(text)


ARFF = Format(
    name="arff",
    title="ARFF, dense and sparse, of Mulan and MEKA",
    endings=(".arff",),
    sniff=lambda head: head.begins("@", "%"),
    read=read_arff,
    chunks=_chunks,
    labels=f"{NAMES}, a number (the first n; the last: -n) or a Mulan XML file, if it is not beside it",
    parse_labels=_parse_labels,
)
