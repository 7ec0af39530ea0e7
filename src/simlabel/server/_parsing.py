"""Reading of imported tables, in a process of its own with limits on memory and time.

A damaged or malicious file can crash that process, for example in a compiled reader, but not the server. The
process writes lines of JSON: each is a part of the table or an error.
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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field

from simlabel.server._changes import checked_name
from simlabel.server._learner import silent_stdout, start_child
from simlabel.server._types import ServerError

if sys.platform != "win32":
    import resource

_CHUNK = 100  # rows in one transaction, which other changes wait for
_CHUNK_CHARACTERS = 1 << 22  # or fewer rows, if they are long
_ROWS_ALWAYS = 100_000  # rows that a file of any size may have; larger files may have one for each byte
_MEMORY_RATIO, _MEMORY_ALWAYS = 100, 1 << 30  # bytes for each byte of the file, and minimum
_SECONDS_ALWAYS, _SECONDS_PER_MIB = 60, 10
_MAIN = "from simlabel.server._parsing import run_parser; run_parser()"
_Text = Annotated[str, Field(min_length=1, max_length=300)]
ImportProblem = dict[str, Any]


class ImportOptions(BaseModel):
    """The options for reading a table."""

    name: Annotated[_Text, Field(description="The name of the file.")] = "table"
    label_column: Annotated[_Text | None, Field(description="The column of tags.")] = None
    separator: Annotated[_Text | None, Field(description="The separator of tags; else detected.")] = None
    id_column: Annotated[_Text | None, Field(description="The column of item names.")] = None
    done: Annotated[bool, Field(description="Whether the tags of a row that has tags are complete.")] = True


@dataclass(frozen=True)
class ImportedRow:
    """A row as an item; `by_content` if its name is derived from its content."""

    content: dict[str, Any]
    name: str
    tags: list[str]
    done: bool
    by_content: bool


@dataclass(frozen=True)
class Part:
    """Some rows of a table: the index of the last row, the total number, the valid rows, the problems."""

    upto: int
    total: int
    rows: list[ImportedRow]
    problems: list[ImportProblem]


class ReaderCrashed(ServerError, status=400):
    """The process that reads a table ended without an answer."""


class TableReader:
    """An iterator over the parts of a table, which a process reads.

    Parameters
    ----------
    file : path
        The table.
    options : ImportOptions
        The options for reading it.
    """

    def __init__(self, file: Path, options: ImportOptions) -> None:
        self._seconds = _time_limit(file)
        self._process = start_child(_MAIN, file, self._seconds)
        assert self._process.stdin is not None
        with suppress(OSError), self._process.stdin as stdin:  # the process may have ended already
            stdin.write(options.model_dump_json())

    def __iter__(self) -> Iterator[Part]:
        assert self._process.stdout is not None
        upto, total = -1, 0
        for line in self._process.stdout:
            if not line.endswith("\n"):
                break  # the process ended while it wrote
            found = json.loads(line)
            if "error" in found:
                raise ServerError(found["error"])
            part = Part(**found | {"rows": [ImportedRow(**row) for row in found["rows"]]})
            upto, total = part.upto, part.total
            yield part
        if upto < total:
            raise ReaderCrashed(_crash_message(self._process.wait(), self._seconds))

    def stop(self) -> None:
        """End the process; any thread may call this."""
        self._process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def check_import(file: Path, options: ImportOptions) -> int:
    """Read a table as an import does, but discard its rows; return their number.

    Raises
    ------
    ServerError
        If importing the table would fail.
    """
    with TableReader(file, options) as reader:
        return next(iter(reader)).total


def _crash_message(code: int, seconds: int) -> str:
    if sys.platform != "win32" and code == -signal.SIGALRM:
        return f"Reading the file took longer than {seconds} s: split it and import the parts."
    reason = signal.Signals(-code).name if code < 0 else f"code {code}"
    return f"The process that reads the file ended ({reason}): the file is damaged or needs too much memory."


def _time_limit(file: Path) -> int:
    size = file.stat().st_size if file.exists() else 0
    return _SECONDS_ALWAYS + _SECONDS_PER_MIB * size // (1 << 20)


def run_parser() -> None:
    """Write the parts of a table to stdout, as the main function of the process."""
    file, seconds = Path(sys.argv[1]), int(sys.argv[2])
    options = ImportOptions.model_validate_json(sys.stdin.read())
    out = silent_stdout()
    import simlabel.datasets  # noqa: F401  # before the limits, which are relative to the current memory

    limit_memory(file)
    _set_alarm(seconds)
    for line in read_messages(file, options):
        _set_alarm(0)  # the server may read slowly
        out.write(json.dumps(line) + "\n")
        out.flush()
        _set_alarm(seconds)


def _set_alarm(seconds: int) -> None:
    """End this process after some seconds; 0 disables the limit."""
    if sys.platform != "win32":
        signal.alarm(seconds)


def limit_memory(file: Path) -> None:
    """Limit the address space of this process, if the system supports it."""
    if sys.platform == "win32":
        return
    try:
        page, machine = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_PHYS_PAGES")
        used = int(Path("/proc/self/statm").read_text().split()[0]) * page
        allowed = max(_MEMORY_ALWAYS, _MEMORY_RATIO * file.stat().st_size)
        limit = used + min(allowed, page * machine // 2)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    except (OSError, ValueError):
        return


def read_messages(file: Path, options: ImportOptions) -> Iterator[dict[str, Any]]:
    """Yield the parts of a table, or an error, as the process sends them."""
    try:
        yield from map(asdict, parse(file, options))
    except MemoryError:
        yield {"error": "The file needs too much memory: split it and import the parts."}
    except ServerError as error:
        yield {"error": str(error)[:300]}


def parse(file: Path, options: ImportOptions) -> Iterator[Part]:
    """Read a table; yield its rows in one or more parts."""
    from simlabel.datasets import DatasetError, read_table
    from simlabel.tables import label_sets, separator_for

    try:
        table = read_table(file)
    except DatasetError as error:  # the message leaves out the path, which is one of the server
        line = "" if error.line is None else f"line {error.line}: "
        raise ServerError(f"{line}{error.message}") from None
    frame, n_rows = table.frame, len(table.frame)
    _check_columns(frame.columns.tolist(), n_rows, file, options)
    given = tags = [None] * n_rows
    if options.label_column is not None:
        given = [_label_text(cell) for cell in frame[options.label_column].tolist()]
        try:
            tags = label_sets(given, separator_for(given, options.separator or "auto"))
        except ValueError as error:
            raise ServerError(f"label_column {options.label_column!r}: {error}") from None
    problems = [{"row": problem.line, "problem": problem.what} for problem in table.problems]
    rows = enumerate(zip(table.records(), given, tags, strict=True), start=1)
    yield from _parts(_items(rows, options, problems), problems, n_rows)


def _check_columns(names: list[str], n_rows: int, file: Path, options: ImportOptions) -> None:
    """Refuse missing columns, and more rows than a file of this size can have."""
    for what in ("label_column", "id_column"):
        if (name := getattr(options, what)) is not None and name not in names:
            columns = ", ".join(map(repr, names))[:200]
            raise ServerError(f"{what}: there is no column {name!r}; the columns are {columns}.")
    size = file.stat().st_size
    if n_rows > max(_ROWS_ALWAYS, size):
        raise ServerError(f"The file has {n_rows:,} rows, too many for {size:,} bytes: it is damaged.")


def _parts(
    rows: Iterable[tuple[int, ImportedRow | None]], problems: list[ImportProblem], total: int
) -> Iterator[Part]:
    """Yield rows in parts of limited size."""
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


def _label_text(cell: Any) -> Any:
    """Return a cell of the label column: numbers as texts, None if it is missing."""
    if isinstance(cell, float):
        return None if cell != cell else f"{cell:.15g}"
    return str(cell) if isinstance(cell, int) else cell


def _items(
    rows: Iterable[tuple[int, Any]], options: ImportOptions, problems: list[ImportProblem]
) -> Iterator[tuple[int, ImportedRow | None]]:
    """Yield the index of each row, and the row as an item or None if it is invalid."""
    names, seen = dict[str, int](), Counter[str]()
    for place, (content, given, labels) in rows:
        content.pop(options.label_column or "", None)
        try:
            tags = [checked_name(tag, "label") for tag in sorted(labels or ())]
            id_cell = content.get(options.id_column or "")
            name = (
                _name_from_content(content, seen) if id_cell is None else checked_name(str(id_cell), "name")
            )
            if name in names:
                raise ServerError(f"The row was skipped, because it has the same id as row {names[name]}.")
        except ServerError as error:
            problems.append({"row": place, "problem": str(error)})
            yield place, None
        else:
            names[name] = place
            done = options.done and given is not None
            yield place, ImportedRow(content, name, tags, done, id_cell is None)


def _name_from_content(content: dict[str, Any], seen: Counter[str]) -> str:
    """Return a name that depends on the content only, with a number if the file repeats the content."""
    text = json.dumps(content, sort_keys=True)
    name = f"row {hashlib.sha256(text.encode()).hexdigest()[:16]}"
    seen[name] += 1
    return name if seen[name] == 1 else f"{name} ({seen[name]})"
