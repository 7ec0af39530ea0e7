"""The header of an ARFF file: its relation and its attributes.

Headers written by Weka, Mulan, MEKA and by hand contain tabs, quotes with escapes in names, comments after
declarations and keywords in any case, not all of which liac-arff reads. So they are read here, and liac-arff
reads the rows.
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
