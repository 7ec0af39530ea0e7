"""One made-up set as files of every format, laid out as the published sets are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from made_data import make_data

N_TRAIN = 40
FLAVOURS = ("sweet", "sour", "bitter")


def whole(rows=60):
    """Sparse features, the last of them 1 in every row, and label sets that are not empty."""
    data = make_data("whole", rows=rows, sparse=True)
    X, Y = data.X.toarray().round(3), data.Y.toarray()
    X[:, -1] = 1.0
    Y[:, 0] |= Y.sum(axis=1) == 0
    return X, Y, data.feature_names, data.label_names


def flavour(i):
    """A nominal feature of a row, which is no part of `whole`."""
    return FLAVOURS[i * i % 3]


def _attributes(names, kind):
    return "".join(f"@attribute '{name}' {kind}\n" for name in names)


def _arff(path, X, Y, features, labels, layout="dense", count=None, first=0):
    """Labels come last; with a count as MEKA writes it, that is for the header to say."""
    relation = path.stem if count is None else f"{path.stem}: -C {count}"
    text = f"@relation '{relation}'\n"
    rows = np.hstack([Y, X] if count and count > 0 else [X, Y]).tolist()
    blocks = [_attributes(features, "numeric"), _attributes(labels, "{0,1}")]
    text += "".join(blocks[::-1] if count and count > 0 else blocks)
    if layout == "nominal":
        text = text.replace("@attribute", f"@attribute flavour {{{','.join(FLAVOURS)}}}\n@attribute", 1)
        rows = [[flavour(first + i), *row] for i, row in enumerate(rows)]
    text += "@data\n"
    for row in rows:
        values = [str(int(v)) if isinstance(v, float) and v.is_integer() else str(v) for v in row]
        if layout == "sparse":
            text += "{" + ",".join(f"{j} {v}" for j, v in enumerate(values) if v != "0") + "}\n"
        else:
            text += ",".join(values) + "\n"
    path.write_text(text)


def _xml(path, labels):
    inside = "".join(f'<label name="{name}"></label>\n' for name in labels)
    path.write_text(f'<labels xmlns="http://mulan.sourceforge.net/labels">\n{inside}</labels>\n')


def _csr(key, matrix):
    matrix = sp.csr_array(matrix)
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
    return {f"{key}_{name}": part for name, part in parts.items()} | {f"{key}_shape": np.array(matrix.shape)}


def write_sets(folder):
    """Write all of them; they are called after their layout."""
    X, Y, features, labels = whole()
    split = np.where(np.arange(len(X)) < N_TRAIN, 0, 2).astype(np.int8)
    parts = {"": slice(None), "-train": slice(N_TRAIN), "-test": slice(N_TRAIN, None)}
    for name, layout in [
        ("mulan", "dense"),
        ("nominal", "nominal"),
        ("parts", "dense"),
        ("sparse", "sparse"),
    ]:
        _xml(folder / f"{name}.xml", labels)
        for part, rows in parts.items():
            if part or name in ("mulan", "nominal"):
                path = folder / f"{name}{part}.arff"
                _arff(path, X[rows], Y[rows], features, labels, layout, first=rows.start or 0)
    _arff(folder / "meka.arff", X, Y, features, labels, count=len(labels))
    _arff(folder / "meka_last.arff", X, Y, features, labels, count=-len(labels))
    for part, rows in list(parts.items())[1:]:
        dump_svmlight_file(X[rows], Y[rows], str(folder / f"svmlight{part}.svm"), multilabel=True)
    lines = [f"{len(X)} {len(features)} {len(labels)}"]
    for x, y in zip(X.tolist(), Y, strict=True):
        entries = " ".join(f"{j}:{value}" for j, value in enumerate(x) if value)
        lines.append(",".join(map(str, np.flatnonzero(y))) + " " + entries)
    (folder / "xmc.txt").write_text("\n".join(lines) + "\n")
    names = {"split": split, "label_names": np.array(labels), "feature_names": np.array(features)}
    np.savez(folder / "npz.npz", X=X, Y=Y, **names)
    np.savez_compressed(folder / "npz_sparse.npz", **_csr("X", X), **_csr("Y", Y), **names)
    frame = pd.DataFrame(np.hstack([X, Y]), columns=[*features, *labels])
    frame.to_csv(folder / "csv.csv", index=False)
    frame.to_parquet(folder / "parquet.parquet", index=False)
