"""Run benchmarks and write their pages: docs/benchmarks (speed) and docs/results (accuracy).

    python benchmarks/run.py --list           # names and descriptions
    python benchmarks/run.py speed            # all of a folder
    python benchmarks/run.py exact peers      # some; without names all of both folders
    python benchmarks/run.py --small          # tiny sizes, as a test; docs are not changed

A benchmark is a file in one of the folders with `run(scale: Scale) -> Part`; the list shows the first line of
its docstring.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import tempfile
import time
from pathlib import Path

import matplotlib
from _shared.data import Missing
from _shared.report import publish
from _shared.timing import Scale

HERE = Path(__file__).resolve().parent
PAGES = {"speed": "benchmarks", "accuracy": "results"}  # the folder of each kind, and that in docs
FOUND = {path.stem: path for kind in PAGES for path in sorted((HERE / kind).glob("[!_]*.py"))}


def first_line(path: Path) -> str:
    """Return the first line of a docstring, without importing the file."""
    return (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=first_line(Path(__file__)))
    parser.add_argument("names", nargs="*", metavar="name", help="benchmarks or folders; all by default")
    parser.add_argument("--list", action="store_true", help="list the benchmarks")
    parser.add_argument("--small", action="store_true", help="tiny sizes; writes to a temporary folder")
    chosen = parser.parse_args()
    if unknown := set(chosen.names) - {*FOUND, *PAGES}:
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}; --list shows all.")
    names = [
        name for name, path in FOUND.items() if not chosen.names or {name, path.parent.name} & {*chosen.names}
    ]
    if chosen.list:
        for name in names:
            print(f"{FOUND[name].parent.name:9} {name:19} {first_line(FOUND[name])}")
        return
    matplotlib.use("Agg")
    docs = Path(tempfile.mkdtemp(prefix="bench")) if chosen.small else HERE.parent / "docs"
    for name in names:
        kind, started = FOUND[name].parent.name, time.perf_counter()
        try:
            part = importlib.import_module(f"{kind}.{name}").run(Scale(chosen.small))
        except Missing as missing:
            print(f"{name} is skipped: {missing}")
            continue
        publish(name, part, docs / PAGES[kind])
        print(f"{name} took {time.perf_counter() - started:.0f} s\n")
    print(f"written to {docs}")


if __name__ == "__main__":
    main()
