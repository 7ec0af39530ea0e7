"""What a report is made of, before it becomes HTML, Markdown or LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Cell:
    """One cell of a table; `heat` between 0 and 1 colours it."""

    text: str
    best: bool = False
    heat: float | None = None


@dataclass(frozen=True)
class Table:
    """A table; its first column names the rows.

    Attributes
    ----------
    headings : tuple of str
    rows : tuple of tuple of Cell
    caption : str
    folded : bool
        In HTML, closed until one opens it: for long ones.
    upright : bool
        In HTML, headings are written upright, for many narrow columns.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str
    folded: bool = False
    upright: bool = False


@dataclass(frozen=True)
class Picture:
    """A drawing; only HTML shows it."""

    svg: str
    caption: str


@dataclass(frozen=True)
class Pictures:
    """Small drawings side by side, as many as the width allows."""

    pictures: tuple[Picture, ...]


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Example:
    """One instance: what was predicted, what is true, and which references decided.

    Attributes
    ----------
    title : str
    predicted : tuple of (str, bool)
        Names, strongest first, and whether they are right.
    missed : tuple of str
        True labels that were not predicted.
    reasons : tuple of str
        References with their shares, in words.
    """

    title: str
    predicted: tuple[tuple[str, bool], ...]
    missed: tuple[str, ...]
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Examples:
    """Several instances."""

    examples: tuple[Example, ...]


Block = Table | Picture | Pictures | Text | Examples


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Report:
    """A whole report.

    Attributes
    ----------
    title, subtitle : str
    facts : tuple of (str, str)
        Short facts for the head of the page: what, how many.
    sections : tuple of Section
    """

    title: str
    subtitle: str
    facts: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...] = field(default=())


def table(headings: Sequence[str], rows: Sequence[Sequence[object]], caption: str, **options: bool) -> Table:
    """A table of cells or bare texts."""
    cells = tuple(tuple(cell if isinstance(cell, Cell) else Cell(str(cell)) for cell in row) for row in rows)
    return Table(tuple(headings), cells, caption, **options)
