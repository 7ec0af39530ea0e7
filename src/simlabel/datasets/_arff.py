"""ARFF, dense and sparse, with labels as Mulan or MEKA mark them.

Headers written by Weka, Mulan, MEKA and by hand contain tabs, quotes with escapes in names, comments after
declarations and keywords in any case, not all of which liac-arff reads. So they are read here, and liac-arff
reads the rows.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError, ParserCreate

import arff
import numpy as np

from simlabel.datasets._columns import TRUTH, Missing, read_columns
from simlabel.datasets._dataset import Dataset, set_name, stem
from simlabel.datasets._errors import DatasetError, check_regular, quote
from simlabel.datasets._format import NAMES, Format, split_names
from simlabel.datasets._source_table import Attribute, CellBlock, SourceTable, cell_blocks
from simlabel.datasets._text import numbered_lines

LabelOption = int | str | PathLike[str] | Sequence[str] | None

_MEKA_COUNT = re.compile(r"(?:^|[\s:])-C\s+(-?\d{1,9})(?=\s|$)", re.IGNORECASE)
_IMPLIED_ALWAYS = 1 << 22  # cells that a small file may imply without writing them
_TOKEN = re.compile(
    r"""\s*(?:
        "(?P<double>(?:[^"\\]|\\.)*)"
      | '(?P<single>(?:[^'\\]|\\.)*)'
      | (?P<mark>[{},])
      | (?P<word>[^\s{},]+)
    )""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(.)")
_CONTROL = {"n": "\n", "t": "\t", "r": "\r"}
_NUMERIC = {"numeric", "real", "integer"}
_OTHERS = {"string": "text", "date": "a date", "relational": "a table of its own"}


def read_arff(
    path: Path, *, labels: LabelOption = None, missing: Missing = "error", max_gib: float | None = None
) -> Dataset:
    """Read an ARFF file.

    Parameters
    ----------
    path : path
        The file, plain or gzip.
    labels : int, path or sequence of str, optional
        Which attributes are labels: the first n, or the last n for ``-n``; the path of a Mulan XML file;
        or their names. By default, the XML file in the same folder, or else ``-C n`` in the relation name.
    missing : {"error", "mean", "median", "most_frequent"}
        How missing features are filled in.
    max_gib : float, optional
        How many GiB of memory the file may need; by default that depends on its size.
    """
    lines = numbered_lines(path, max_gib)
    header = read_header(lines, path)
    positions = _label_positions(header, path, labels)
    return read_columns(_table(header, lines, path), positions, missing, set_name(path))


def _table(
    header: Header, lines: Iterator[tuple[int, str]], path: Path, n_rows: int | None = None
) -> SourceTable:
    rows = _ArffRows(lines, len(header.attributes), path)
    found = cell_blocks(rows, len(header.attributes), n_rows)
    if rows.sparse:
        limit = max(_IMPLIED_ALWAYS, path.stat().st_size) if n_rows is None else None
        found = _with_implied(found, header.attributes, path, limit)
    return SourceTable(path, header.attributes, lambda _: found, sparse=rows.sparse)


def _with_implied(
    found: Iterator[CellBlock], attributes: Sequence[Attribute], path: Path, limit: int | None
) -> Iterator[CellBlock]:
    """Add the cells that sparse rows leave out and that are not 0: the first values of nominal attributes."""
    first = {j: attribute.values[0] for j, attribute in enumerate(attributes) if attribute.values}
    implied = {j: value for j, value in first.items() if TRUTH.get(value.lower()) != 0}
    n_cells = 0
    for block in found:
        n_rows, columns = len(block.lines), {j: (rows, values) for j, rows, values in block.columns}
        n_cells += n_rows * len(implied) - sum(len(columns[j][0]) for j in implied.keys() & columns.keys())
        if limit is not None and n_cells > limit:
            raise DatasetError(
                "expected sparse rows; they leave out so many values of nominal attributes whose first value "
                "is not 0 that the data set is far larger than the file. Declare 0 first",
                path,
                block.lines[-1],
            )
        for j, value in implied.items():
            rows, values = columns.get(j, (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=object)))
            absent = np.setdiff1d(np.arange(n_rows), rows, assume_unique=True)
            added = np.full(len(absent), value, dtype=object)
            columns[j] = np.concatenate([rows, absent]), np.concatenate([values, added])
        yield CellBlock(block.lines, ((j, *cells) for j, cells in columns.items()))


class _ArffRows:
    """The rows of the data section with their lines, read by liac-arff."""

    def __init__(self, lines: Iterator[tuple[int, str]], n_attributes: int, path: Path) -> None:
        self._path = path
        self._line = 0
        self._text = ""
        self._n_attributes = n_attributes
        self._rest = self._data(lines)
        self._first = next(self._rest, None)
        self.sparse = self._first is not None and self._first.startswith("{")

    def _data(self, lines: Iterator[tuple[int, str]]) -> Iterator[str]:
        for number, line in lines:
            self._text = without_comment(line).strip()
            self._line = number
            if self._text:
                yield self._text

    def _with_header(self) -> Iterator[str]:
        """Yield a header that declares all attributes as text, and then the rows: conversion is done here."""
        yield "@relation rows"
        for j in range(self._n_attributes):
            yield f"@attribute a{j} string"
        yield "@data"
        if self._first is not None:
            yield self._first
            yield from self._rest

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        kind = arff.LOD_GEN if self.sparse else arff.DENSE_GEN
        decoded = iter(arff.ArffDecoder().decode(self._with_header(), return_type=kind)["data"])
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
            # liac-arff keeps the last of several values for one index
            if self.sparse and 0 < len(row) <= self._text.count(",") and not set("'\"") & set(self._text):
                what = f"expected each index once in a row, found {quote(self._text)}"
                raise DatasetError(what, self._path, self._line)
            yield self._line, row

    def _malformed(self) -> DatasetError:
        expected = f"{self._n_attributes} values separated by commas"
        if self.sparse:
            expected = f"a sparse row {{index value, ...}} with indices below {self._n_attributes}"
        return DatasetError(f"expected {expected}, found {quote(self._text)}", self._path, self._line)


@dataclass(frozen=True)
class Header:
    """The relation and the attributes."""

    relation: str
    attributes: tuple[Attribute, ...]


def unescape(text: str) -> str:
    r"""Replace escape sequences.

    Examples
    --------
    >>> unescape(r"Swainson\'s Thrush")
    "Swainson's Thrush"
    """
    return _ESCAPE.sub(lambda match: _CONTROL.get(match[1], match[1]), text) if "\\" in text else text


def without_comment(line: str) -> str:
    """Cut a line at the first ``%`` that is not inside quotes."""
    if "%" not in line:
        return line
    quote_mark, escaped = "", False
    for position, char in enumerate(line):
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif quote_mark:
            quote_mark = "" if char == quote_mark else quote_mark
        elif char in "'\"" and (position == 0 or line[position - 1] in " \t,{"):
            quote_mark = char  # a quote inside a word is a letter, as in don't
        elif char == "%":
            return line[:position]
    return line


def read_header(lines: Iterator[tuple[int, str]], path: Path) -> Header:
    """Read up to ``@data``; the remaining `lines` are the rows."""
    relation, number = "", 0
    attributes: dict[str, Attribute] = {}
    for number, line in lines:
        keyword, *rest = without_comment(line).strip().split(None, 1) or [""]
        try:
            if keyword.lower() == "@relation":
                relation = _relation("".join(rest).strip())
            elif keyword.lower() == "@attribute":
                attribute = _attribute("".join(rest), number)
                if attribute.name in attributes:
                    first = f"first on line {attributes[attribute.name].line}"
                    found = f"{quote(attribute.name)} a second time ({first})"
                    raise DatasetError(f"expected a new attribute, found {found}")
                attributes[attribute.name] = attribute
            elif keyword.lower() == "@data":
                if not attributes:
                    raise DatasetError("expected @attribute lines before @data, found none")
                return Header(relation, tuple(attributes.values()))
            elif keyword:
                found = quote(" ".join([keyword, *rest]))
                raise DatasetError(f"expected @relation, @attribute or @data, found {found}")
        except DatasetError as error:
            raise DatasetError(error.message, path, number) from None
    raise DatasetError("expected a line @data, and the file ends without one", path, max(number, 1))


def _relation(rest: str) -> str:
    if len(rest) > 1 and rest[0] in "'\"" and rest[-1] == rest[0]:
        rest = rest[1:-1]
    return unescape(rest)


def _attribute(rest: str, line: int) -> Attribute:
    tokens = _tokens(rest)
    if not tokens or tokens[0][0]:
        raise DatasetError(f"expected the name of an attribute, found {quote(rest)}")
    name = tokens[0][1]
    kind = tokens[1:]
    if not kind:
        raise DatasetError(f"expected a type after the attribute {quote(name)}, found nothing")
    if kind[0] == (True, "{"):
        return Attribute(name, _values(name, kind), line=line)
    word = kind[0][1].lower()
    if word in _OTHERS:
        raise DatasetError(
            f"expected a numeric or nominal attribute; {quote(name)} is {_OTHERS[word]} ({word}), "
            "which is not a feature. Remove it, or turn it into numbers"
        )
    if word not in _NUMERIC or len(kind) > 1:
        found = quote(" ".join(text for _, text in kind))
        raise DatasetError(
            f"expected numeric, real, integer or {{value, ...}} for {quote(name)}, found {found}"
        )
    return Attribute(name, is_numeric=True, line=line)


def _values(name: str, tokens: list[tuple[bool, str]]) -> tuple[str, ...]:
    """Return the values between braces; an unquoted value may contain blanks."""
    if tokens[-1] != (True, "}"):
        raise DatasetError(f"expected a closing }} after the values of {quote(name)}")
    values: list[str] = []
    words: list[str] = []
    for is_mark, text in [*tokens[1:-1], (True, ",")]:
        if not is_mark:
            words.append(text)
        elif text != ",":
            raise DatasetError(f"expected values between one pair of braces for {quote(name)}")
        elif not words:
            raise DatasetError(f"expected a value between the commas of {quote(name)}")
        else:
            values.append(" ".join(words))
            words = []
    if len(set(values)) < len(values):
        raise DatasetError(f"expected each value of {quote(name)} once, found one twice")
    return tuple(values)


def _tokens(text: str) -> list[tuple[bool, str]]:
    """Return pairs (whether it is a brace or a comma, text)."""
    tokens: list[tuple[bool, str]] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None or (match["word"] and match["word"][0] in "'\""):
            raise DatasetError(f"expected a closing quote after {quote(text[position:].lstrip())}")
        quoted = match["double"] if match["double"] is not None else match["single"]
        if quoted is not None:
            tokens.append((False, unescape(quoted)))
        else:
            tokens.append((match["mark"] is not None, match["mark"] or match["word"]))
        position = match.end()
    return tokens


def _label_positions(header: Header, path: Path, labels: LabelOption) -> list[int]:
    """Return the positions of the attributes that are labels, in the order of the file."""
    n_attributes = len(header.attributes)
    if labels is None:
        labels = _xml_of(path)
    if labels is None and (match := _MEKA_COUNT.search(header.relation)):
        labels = int(match[1])
    if labels is None:
        raise DatasetError(
            f"cannot tell which attributes are labels: expected {set_name(path)}.xml in its folder (Mulan), "
            "'-C n' in its @relation (MEKA), or labels= (an XML file, a number, or names)",
            path,
        )
    if isinstance(labels, int):
        if not 0 < abs(labels) <= n_attributes:
            what = (
                f"expected a number of labels between 1 and the {n_attributes} attributes, found -C {labels}"
            )
            raise DatasetError(what, path)
        return list(range(n_attributes))[:labels] if labels > 0 else list(range(n_attributes))[labels:]
    xml = None
    if isinstance(labels, str | PathLike):
        xml = Path(labels)
        names = read_label_names(xml)
    else:
        names = dict.fromkeys(labels, 0)
    position = {attribute.name: j for j, attribute in enumerate(header.attributes)}
    # Mulan's tools copy a quoted name into the XML file with its backslashes
    plain = {unescape(name): j for name, j in position.items()}
    found = set()
    for name, line in names.items():
        j = position.get(name, plain.get(unescape(name)))
        if j is None:
            message = f"expected labels that are attributes of {path.name}; {quote(name)} is not one"
            raise DatasetError(message, xml or path, line or None)
        found.add(j)
    return sorted(found)


def _xml_of(path: Path) -> Path | None:
    """Return the XML file with the longest name with which the name of an ARFF file begins.

    ``Corel5k-train-sparse.arff`` belongs to ``Corel5k.xml``, but not ``yeast2.arff`` to ``yeast.xml``.
    """
    own = stem(path)
    ends = [len(own), *(at for at in range(len(own) - 1, 0, -1) if own[at] in "-_.")]
    candidates = (path.with_name(f"{own[:end]}.xml") for end in ends)
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def read_label_names(path: Path) -> dict[str, int]:
    """Return the label names in a Mulan XML file, with their lines; nested labels are included."""
    check_regular(path)
    names: dict[str, int] = {}
    parser = ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        line = parser.CurrentLineNumber
        tag = tag.rpartition(":")[2]
        if tag == "labels":
            return
        if tag != "label" or "name" not in attributes:
            raise DatasetError(f'expected <label name="...">, found <{tag}>', path, line)
        if attributes["name"] in names:
            raise DatasetError(f"expected a new label, found {quote(attributes['name'])} twice", path, line)
        names[attributes["name"]] = line

    def refuse(*_: object) -> None:  # entities can grow without bound, and label files need none
        raise DatasetError("expected labels only, found a document type", path, parser.CurrentLineNumber)

    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(path.read_bytes(), True)
    except DatasetError:
        raise
    except OSError as error:
        raise DatasetError(f"expected a Mulan file of labels; {error.strerror}", path) from None
    except (ExpatError, ValueError, LookupError) as error:
        line = parser.ErrorLineNumber or 1
        raise DatasetError(f"expected an XML file of labels; {error}", path, line) from None
    if not names:
        raise DatasetError('expected at least one <label name="...">, found none', path)
    return names


def _parse_labels(text: str) -> LabelOption:
    """Parse a number, the path of an XML file, or names."""
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    return text if text.lower().endswith(".xml") else split_names(text)


def _open(path: Path, max_gib: float | None, rows: int) -> SourceTable:
    lines = numbered_lines(path, max_gib)
    return _table(read_header(lines, path), lines, path, rows)


ARFF = Format(
    name="arff",
    title="ARFF, dense and sparse, of Mulan and MEKA",
    endings=(".arff",),
    sniff=lambda head: head.begins("@", "%"),
    read=read_arff,
    chunks=lambda chunks: chunks.table_blocks(_open(chunks.path, chunks.max_gib, chunks.rows)),
    labels=f"{NAMES}, a number (the first n; the last: -n) or a Mulan XML file, if it is not beside it",
    parse_labels=_parse_labels,
)
