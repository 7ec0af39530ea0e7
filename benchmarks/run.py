"""All benchmarks, or those that are named: one table and plots in docs/benchmarks.

python benchmarks/run.py                  # all of them
python benchmarks/run.py exact peers      # some
python benchmarks/run.py --small          # tiny sizes, to see that everything works; docs untouched
"""

from __future__ import annotations

import argparse
import importlib
import tempfile
import time
from pathlib import Path

import matplotlib
from _data import Missing
from _report import FOLDER, publish
from _timing import Scale

PARTS = (
    "exact",
    "coordinates",
    "symmetric",
    "one_query",
    "collapsed",
    "sparse",
    "peers",
    "growth",
    "cores",
    "memory",
    "larger_than_memory",
    "cluster",
    "cluster_scaling",
    "loo_search",
    "engine_choice",
    "sketches",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which; all by default")
    parser.add_argument("--small", action="store_true", help="tiny sizes; writes to a temporary folder")
    asked = parser.parse_args()
    matplotlib.use("Agg")
    folder = Path(tempfile.mkdtemp(prefix="bench")) if asked.small else FOLDER
    for name in asked.parts or PARTS:
        started = time.perf_counter()
        try:
            part = importlib.import_module(name).run(Scale(asked.small))
        except Missing as missing:
            print(f"{name} is left out: {missing}")
            continue
        publish(part, folder)
        print(f"{name} took {time.perf_counter() - started:.0f} s\n")
    print(f"written to {folder}")


if __name__ == "__main__":
    main()
