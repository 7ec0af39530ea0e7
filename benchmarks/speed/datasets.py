"""How long the readers of data sets take, and how much memory, beside the size of the text.

Each set of the folder SIMLABEL_DATA that comes as text is loaded as it is, and then again from copies in the
other text formats.
"""

from __future__ import annotations

import tempfile
import tracemalloc
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from _shared.data import Missing
from _shared.report import Part
from _shared.timing import Scale, seconds

from simlabel.datasets import Dataset, list_datasets, load_dataset


def measured(size: int, rounds: int, **load) -> list[str]:
    """The best time, and the peak of Python's and numpy's memory over the size."""
    read = partial(load_dataset, **load)
    best = min(seconds(read) for _ in range(rounds))
    tracemalloc.start()
    read()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return [f"{size / 1e6:.2f}", f"{best:.2f}", f"{peak / size:.2f}"]


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


def run(scale: Scale) -> Part:
    known = list_datasets().sort_values("rows")["source"]
    texts = [name for name, source in known.items() if ".npz" not in source]
    if not texts:
        raise Missing("it needs data sets; SIMLABEL_DATA names the folder.")
    part = Part("Readers of data sets", ["what", "MB", "best s", "peak memory / size"])
    rounds = scale.rounds(3)
    with tempfile.TemporaryDirectory() as folder:
        for name in texts[:1] if scale.small else texts:
            dataset = load_dataset(name)
            size = sum(Path(source).stat().st_size for source in dataset.source.split(", "))
            part.row(name, *measured(size, rounds, path_or_name=name))
            for path, options in copies(dataset, Path(folder)):
                part.row(path.name, *measured(path.stat().st_size, rounds, path_or_name=path, **options))
    return part
