"""How long the readers take, and how much memory, beside the size of the text.

Run as ``python benchmarks/datasets.py`` with SIMLABEL_DATA set to a folder of data sets. Each set that comes
as text is loaded as it is, and then again from copies in the other text formats.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from simlabel.datasets import Dataset, list_datasets, load_dataset


def measure(what: str, size: int, **load) -> None:
    """Print the best of three times, and the peak of Python's and numpy's memory over the size."""
    seconds = min(_seconds(**load) for _ in range(3))
    tracemalloc.start()
    load_dataset(**load)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"{what:28} {size / 1e6:8.2f} MB {seconds:8.2f} s {peak / size:8.2f} x its size", flush=True)


def _seconds(**load) -> float:
    start = time.perf_counter()
    load_dataset(**load)
    return time.perf_counter() - start


def sparse_rows(dataset: Dataset):
    """Rows as XMC and svmlight write them."""
    X = sp.csr_array(dataset.X)
    for i in range(dataset.n_rows):
        labels = ",".join(map(str, dataset.Y.indices[dataset.Y.indptr[i] : dataset.Y.indptr[i + 1]]))
        entries = range(X.indptr[i], X.indptr[i + 1])
        yield labels + " " + " ".join(f"{X.indices[k]}:{X.data[k]:.6g}" for k in entries) + "\n"


def copies(dataset: Dataset, folder: Path):
    """The same set in other formats: pairs (path, options)."""
    rows = list(sparse_rows(dataset))
    path = folder / f"{dataset.name}.svm"
    path.write_text("".join(rows))
    yield path, {"zero_based": True}
    path = folder / f"{dataset.name}.txt"
    path.write_text(f"{dataset.n_rows} {dataset.X.shape[1]} {dataset.n_labels}\n" + "".join(rows))
    yield path, {}
    if not sp.issparse(dataset.X):
        path = folder / f"{dataset.name}.csv"
        names = [f"x{j}" for j in range(dataset.X.shape[1])] + [f"y{k}" for k in range(dataset.n_labels)]
        table = np.hstack([dataset.X, dataset.Y.toarray()])
        np.savetxt(path, table, fmt="%.6g", delimiter=",", header=",".join(names), comments="")
        yield path, {"label_prefix": "y"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="sets to load; by default all that come as text")
    names = parser.parse_args().names or [
        name for name, source in list_datasets()["source"].items() if ".npz" not in source
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            dataset = load_dataset(name)
            size = sum(Path(source).stat().st_size for source in dataset.source.split(", "))
            measure(name, size, path_or_name=name)
            for path, options in copies(dataset, Path(folder)):
                measure(f"  {path.name}", path.stat().st_size, path_or_name=path, **options)


if __name__ == "__main__":
    main()
