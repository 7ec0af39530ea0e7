"""The header of an ARFF file: its relation and its attributes.

Written by Weka, Mulan, MEKA and by hand, headers come with tabs, quotes with escapes in names, comments
behind declarations and keywords in any case, which liac-arff does not all read; so they are read here, and
liac-arff gets the rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from simlabel.datasets._columns import Attribute
from simlabel.datasets._errors import DatasetError, quote

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


@dataclass(frozen=True)
class Header:
    """What comes before the rows."""

    relation: str
    attributes: tuple[Attribute, ...]


def unescape(text: str) -> str:
    r"""Undo backslashes.

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
    """Read up to ``@data``; what is left of `lines` are the rows."""
    relation = ""
    attributes: list[Attribute] = []
    seen: dict[str, int] = {}
    number = 0
    for number, line in lines:
        text = without_comment(line).strip()
        if not text:
            continue
        keyword, rest = _keyword(text)
        if keyword == "@relation":
            relation = _relation(rest)
        elif keyword == "@attribute":
            attribute = _attribute(rest, path, number)
            if attribute.name in seen:
                raise DatasetError(
                    f"expected a new attribute, found {quote(attribute.name)} a second time "
                    f"(first on line {seen[attribute.name]})",
                    path,
                    number,
                )
            seen[attribute.name] = number
            attributes.append(attribute)
        elif keyword == "@data":
            if not attributes:
                raise DatasetError("expected @attribute lines before @data, found none", path, number)
            return Header(relation, tuple(attributes))
        else:
            raise DatasetError(f"expected @relation, @attribute or @data, found {quote(text)}", path, number)
    raise DatasetError("expected a line @data, and the file ends without one", path, max(number, 1))


def _keyword(text: str) -> tuple[str, str]:
    parts = text.split(None, 1)
    return parts[0].lower(), parts[1] if len(parts) > 1 else ""


def _relation(rest: str) -> str:
    rest = rest.strip()
    if len(rest) > 1 and rest[0] in "'\"" and rest[-1] == rest[0]:
        rest = rest[1:-1]
    return unescape(rest)


def _attribute(rest: str, path: Path, line: int) -> Attribute:
    tokens = _tokens(rest, path, line)
    if not tokens or tokens[0][0]:
        raise DatasetError(f"expected the name of an attribute, found {quote(rest)}", path, line)
    name = tokens[0][1]
    kind = tokens[1:]
    if not kind:
        raise DatasetError(f"expected a type after the attribute {quote(name)}, found nothing", path, line)
    if kind[0] == (True, "{"):
        return Attribute(name, _values(name, kind, path, line), line=line)
    word = kind[0][1].lower()
    if word in _OTHERS:
        raise DatasetError(
            f"expected a numeric or nominal attribute; {quote(name)} is {_OTHERS[word]} ({word}), "
            "which is not a feature. Remove it, or turn it into numbers",
            path,
            line,
        )
    if word not in _NUMERIC or len(kind) > 1:
        found = quote(" ".join(text for _, text in kind))
        raise DatasetError(
            f"expected numeric, real, integer or {{value, ...}} for {quote(name)}, found {found}", path, line
        )
    return Attribute(name, is_numeric=True, line=line)


def _values(name: str, tokens: list[tuple[bool, str]], path: Path, line: int) -> tuple[str, ...]:
    """Values between braces; blanks inside an unquoted value join its words."""
    if tokens[-1] != (True, "}"):
        raise DatasetError(f"expected a closing }} after the values of {quote(name)}", path, line)
    values: list[str] = []
    words: list[str] = []
    for is_mark, text in [*tokens[1:-1], (True, ",")]:
        if not is_mark:
            words.append(text)
        elif text != ",":
            raise DatasetError(f"expected values between one pair of braces for {quote(name)}", path, line)
        elif not words:
            raise DatasetError(f"expected a value between the commas of {quote(name)}", path, line)
        else:
            values.append(" ".join(words))
            words = []
    if len(set(values)) < len(values):
        raise DatasetError(f"expected each value of {quote(name)} once, found one twice", path, line)
    return tuple(values)


def _tokens(text: str, path: Path, line: int) -> list[tuple[bool, str]]:
    """Pairs (is it a brace or comma, text)."""
    tokens: list[tuple[bool, str]] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None or (match["word"] and match["word"][0] in "'\""):
            raise DatasetError(
                f"expected a closing quote after {quote(text[position:].lstrip())}", path, line
            )
        quoted = match["double"] if match["double"] is not None else match["single"]
        if quoted is not None:
            tokens.append((False, unescape(quoted)))
        else:
            tokens.append((match["mark"] is not None, match["mark"] or match["word"]))
        position = match.end()
    return tokens
