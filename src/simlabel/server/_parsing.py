"""Read a table in a process of its own, with limits on memory and time.

A damaged or hostile file can end that process, for example when a compiled reader aborts, but not the server.
The process writes lines of JSON: each is a part of the table, or an error.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field

from simlabel.server._changes import checked_name
from simlabel.server._child import start_child
from simlabel.server._problems import DeskError

if sys.platform != "win32":
    import resource

_CHUNK = 100  # rows in one transaction: other changes wait no longer than that takes
_CHUNK_CHARACTERS = 1 << 22  # or fewer rows, if they are long
_ROWS_ALWAYS = 100_000  # rows that a file of any size may have; beyond that at most one for each byte
_MEMORY_RATIO, _MEMORY_ALWAYS = 100, 1 << 30  # bytes for each byte of the file, and for any file
_SECONDS_ALWAYS, _SECONDS_PER_MIB = 60, 10
_MAIN = "from simlabel.server._parsing import main; main()"
_Text = Annotated[str, Field(min_length=1, max_length=300)]
Problem = dict[str, Any]


class ImportOptions(BaseModel):
    """How a table is read."""

    name: Annotated[_Text, Field(description="The file's.")] = "table"
    label_column: Annotated[_Text | None, Field(description="The column of tags.")] = None
    separator: Annotated[_Text | None, Field(description="Stands between tags; else found out.")] = None
    id_column: Annotated[_Text | None, Field(description="The column of items' names.")] = None
    done: Annotated[bool, Field(description="Whether tags that a row with tags lacks are absent.")] = True


@dataclass(frozen=True)
class ImportedRow:
    """A row as an item; `by_content` if its name was made from its content."""

    content: dict[str, Any]
    name: str
    tags: list[str]
    done: bool
    by_content: bool


@dataclass(frozen=True)
class Part:
    """Some rows: the number of the last one, the rows that can be taken, problems, and rows in all."""

    upto: int
    total: int
    rows: list[ImportedRow]
    problems: list[Problem]


class Crashed(DeskError, status=400):
    """The process that reads a table ended without an answer."""


class TableReader:
    """An iterator over the parts of a table, which a process reads.

    Parameters
    ----------
    file : path
        The table.
    options : ImportOptions
        How it is read.
    """

    def __init__(self, file: Path, options: ImportOptions) -> None:
        self._seconds = _seconds(file)
        self._process = start_child(_MAIN, file, self._seconds)
        assert self._process.stdin is not None
        with suppress(OSError), self._process.stdin as stdin:  # it may have ended already
            stdin.write(options.model_dump_json())

    def __iter__(self) -> Iterator[Part]:
        assert self._process.stdout is not None
        upto, total = -1, 0
        for line in self._process.stdout:
            if not line.endswith("\n"):
                break  # it ended while it wrote
            found = json.loads(line)
            if "error" in found:
                raise DeskError(found["error"])
            upto, total = found["upto"], found["total"]
            yield Part(upto, total, [ImportedRow(*row) for row in found["rows"]], found["problems"])
        if upto < total:
            raise Crashed(_ended(self._process.wait(), self._seconds))

    def stop(self) -> None:
        """End the process, from any thread."""
        self._process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def check_table(file: Path, options: ImportOptions) -> int:
    """Read a table as an import does, without taking its rows; the number of rows.

    Raises
    ------
    DeskError
        If an import of it would fail.
    """
    with TableReader(file, options) as reader:
        return next(iter(reader)).total


def _ended(code: int, seconds: int) -> str:
    if sys.platform != "win32" and code == -signal.SIGALRM:
        return f"Reading the file took longer than {seconds} s. Split it, and import the parts."
    how = signal.Signals(-code).name if code < 0 else f"code {code}"
    return f"The process that reads the file ended ({how}): the file is damaged, or needs too much memory."


def _seconds(file: Path) -> int:
    size = file.stat().st_size if file.exists() else 0
    return _SECONDS_ALWAYS + _SECONDS_PER_MIB * size // (1 << 20)


# what the process does


def main() -> None:
    """Write the parts of a table to stdout."""
    file, seconds = Path(sys.argv[1]), int(sys.argv[2])
    options = ImportOptions.model_validate_json(sys.stdin.read())
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a library prints is no answer
    import simlabel.datasets  # noqa: F401  # before the limits, which count from what a reader needs

    limit_memory(file)
    _limit_time(seconds)
    for line in answers(file, options):
        _limit_time(0)  # the server may take its time
        out.write(json.dumps(line) + "\n")
        out.flush()
        _limit_time(seconds)


def _limit_time(seconds: int) -> None:
    """End this process after so many seconds, whatever it does then; 0 for never."""
    if sys.platform != "win32":
        signal.alarm(seconds)


def limit_memory(file: Path) -> None:
    """Bound the address space of this process, where the system can."""
    if sys.platform == "win32":
        return
    try:
        page, machine = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_PHYS_PAGES")
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * page
        wanted = max(_MEMORY_ALWAYS, _MEMORY_RATIO * file.stat().st_size)
        limit = taken + min(wanted, page * machine // 2)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    except (OSError, ValueError):
        return


def answers(file: Path, options: ImportOptions) -> Iterator[dict[str, Any]]:
    """The parts of a table, or an error, as they are sent."""
    try:
        for part in parse(file, options):
            rows = [astuple(row) for row in part.rows]
            yield {"upto": part.upto, "total": part.total, "rows": rows, "problems": part.problems}
    except MemoryError:
        yield {"error": "The file needs too much memory. Split it, and import the parts."}
    except DeskError as error:
        yield {"error": str(error)[:300]}


def parse(file: Path, options: ImportOptions) -> Iterator[Part]:
    """Read a table; its rows some at a time, at least one part."""
    from simlabel.datasets import DatasetError, read_table
    from simlabel.tables import label_sets, separator_for

    try:
        table = read_table(file)
    except DatasetError as error:  # without the path, which is the server's
        where = "" if error.line is None else f"line {error.line}: "
        raise DeskError(f"{where}{error.message}") from None
    frame, n_rows = table.frame, len(table.frame)
    _check(frame.columns.tolist(), n_rows, file, options)
    given = tags = [None] * n_rows
    if options.label_column is not None:
        given = [_told(cell) for cell in frame[options.label_column].tolist()]
        try:
            tags = label_sets(given, separator_for(given, options.separator or "auto"))
        except ValueError as error:
            raise DeskError(f"label_column {options.label_column!r}: {error}") from None
    problems = [{"row": problem.line, "problem": problem.what} for problem in table.problems]
    rows = enumerate(zip(table.records(), given, tags, strict=True), start=1)
    yield from _parts(_items(rows, options, problems), problems, n_rows)


def _check(names: list[str], n_rows: int, file: Path, options: ImportOptions) -> None:
    """Refuse columns that are not there, and more rows than such a file can have."""
    for what in ("label_column", "id_column"):
        if (name := getattr(options, what)) is not None and name not in names:
            there = ", ".join(map(repr, names))[:200]
            raise DeskError(f"{what}: there is no column {name!r}; there are {there}.")
    size = file.stat().st_size
    if n_rows > max(_ROWS_ALWAYS, size):
        raise DeskError(f"The file has {n_rows:,} rows, too many for {size:,} bytes: it is damaged.")


def _parts(
    rows: Iterable[tuple[int, ImportedRow | None]], problems: list[Problem], total: int
) -> Iterator[Part]:
    """Rows in parts that are neither long nor large."""
    taken: list[ImportedRow] = []
    length, upto = 0, 0
    for upto, row in rows:
        if row is not None:
            taken.append(row)
            length += sum(len(cell) for cell in row.content.values() if isinstance(cell, str))
        if upto % _CHUNK == 0 or length > _CHUNK_CHARACTERS:
            yield Part(upto, total, taken, problems[:])
            taken, length = [], 0
            problems.clear()
    if taken or problems or not upto or upto % _CHUNK:
        yield Part(upto, total, taken, problems[:])


def _told(cell: Any) -> Any:
    """What a row says of its labels: None for nothing, a number as its digits."""
    if isinstance(cell, float):
        return None if cell != cell else f"{cell:.15g}"
    return str(cell) if isinstance(cell, int) else cell


def _items(
    rows: Iterable[tuple[int, Any]], options: ImportOptions, problems: list[Problem]
) -> Iterator[tuple[int, ImportedRow | None]]:
    """The number of each row, and the row as an item, or None where it cannot be one."""
    names, seen = dict[str, int](), Counter[str]()
    for place, (content, told, labels) in rows:
        content.pop(options.label_column or "", None)
        try:
            tags = [checked_name(tag, "label") for tag in sorted(labels or ())]
            given = content.get(options.id_column or "")
            name = _by_content(content, seen) if given is None else checked_name(str(given), "name")
            if name in names:
                raise DeskError(f"The row has the same id as row {names[name]}, and was left out.")
        except DeskError as error:
            problems.append({"row": place, "problem": str(error)})
            yield place, None
        else:
            names[name] = place
            yield place, ImportedRow(content, name, tags, options.done and told is not None, given is None)


def _by_content(content: dict[str, Any], seen: Counter[str]) -> str:
    """A name that the same content has in every file; numbered where a file repeats it."""
    text = json.dumps(content, sort_keys=True)
    name = f"row {hashlib.sha256(text.encode()).hexdigest()[:16]}"
    seen[name] += 1
    return name if seen[name] == 1 else f"{name} ({seen[name]})"
