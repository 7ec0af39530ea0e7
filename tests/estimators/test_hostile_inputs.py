"""Damaged sparse matrices, duplicate entries, unknown labels, and numbers near the limits of their type."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from similarity_cases import SIMILARITY_CASES
from simlabel import AutoSMLClassifier, SMLClassifier, similarity_sums
from simlabel._utils.validation import check_ids, check_sparse
from simlabel.baselines import BoosTexter, MLkNN
from simlabel.datasets import Dataset
from simlabel.labels import LabelSpace
from simlabel.metrics import evaluate, hamming_loss
from simlabel.normalizers import NORMALIZERS
from simlabel.similarities import Linear
from simlabel.sums.dask import as_remote_rows


def good(n=6, m=4):
    return sp.csr_array((np.arange(n * m).reshape(n, m) % 3 == 0).astype(float))


def damaged(kind, matrix=sp.csr_array):
    X = matrix(good())
    if kind == "too high":
        X.indices[-1] = 10**6
    elif kind == "negative":
        X.indices[0] = -(10**6)
    elif kind == "falling below zero":
        X.indptr[-1] = -1
    else:
        X.indptr[1] = X.indptr[-1]
        X.indptr[2] = 0
    return X


SETS = [{"a"}, {"b"}, {"a"}, {"a", "b"}, {"b"}, set()]
Y = np.array([[1, 0], [0, 1], [1, 0], [1, 1], [0, 1], [1, 0]])
fitted = SMLClassifier("linear").fit(good(), SETS)
DOORS = {
    "fit": lambda X: SMLClassifier("linear").fit(X, SETS),
    "labels": lambda X: SMLClassifier("linear").fit(np.eye(X.shape[0]), X),
    "predict": lambda X: fitted.predict(X),
    "partial_fit": lambda X: SMLClassifier("linear").fit(good(), SETS).partial_fit(X, SETS),
    "partial_fit, labels": lambda X: SMLClassifier("linear").fit(good(), good()).partial_fit(good(), X),
    "precomputed": lambda X: SMLClassifier("precomputed").fit(X, SETS),
    "queries of sums": lambda X: similarity_sums(X, good(), Y, Linear()),
    "references of sums": lambda X: similarity_sums(good(), X, Y, Linear()),
    "influence of sums": lambda X: similarity_sums(good(), good(), X, Linear()),
    "AutoSML": lambda X: AutoSMLClassifier().fit(X, SETS),
    "MLkNN": lambda X: MLkNN().fit(X, Y),
    "BoosTexter": lambda X: BoosTexter(2).fit(X, Y),
    "baseline, labels": lambda X: BoosTexter(2).fit(good(), X),
    "truth": lambda X: hamming_loss(X, good()),
    "prediction": lambda X: evaluate(good().astype(int), X, np.ones((6, 4))),
    "Dask": as_remote_rows,
    "Dataset": lambda X: Dataset("d", X, X, "abcd", "efgh"),
}


@pytest.mark.parametrize("kind", ["too high", "negative", "falling", "falling below zero"])
@pytest.mark.parametrize("matrix", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.bsr_array])
def test_damage_is_found_in_any_form(kind, matrix):
    with pytest.raises(ValueError, match=r"Input X is a damaged .* of shape \(6, 4\): .*ind"):
        check_sparse(damaged(kind, matrix), "X")


@pytest.mark.parametrize("kind", ["too high", "negative", "falling", "falling below zero"])
@pytest.mark.parametrize("door", DOORS)
def test_damage_is_found_at_every_door(door, kind):
    with pytest.raises(ValueError, match="is a damaged csr matrix"):
        DOORS[door](damaged(kind))


@pytest.mark.parametrize("column", [9, -1])
def test_damaged_coordinates(column):
    X = sp.coo_array(good())
    X.coords[1][0] = column
    with pytest.raises(ValueError, match="is a damaged coo matrix"):
        SMLClassifier("linear").fit(X, SETS)


FORMS = [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix, sp.coo_array, sp.coo_matrix]


def in_pieces(dense, kind, rng):
    """Return a sparse matrix with duplicate entries in any order that add up to a dense one."""
    rows, columns = dense.nonzero()
    values = dense[rows, columns]
    part = values / 2 if dense.dtype.kind == "f" else values - values
    order = rng.permutation(2 * len(rows))
    rows, columns = np.tile(rows, 2)[order], np.tile(columns, 2)[order]
    data = np.concatenate([part, values - part])[order]
    if kind(dense).format == "coo":
        return kind((data, (rows, columns)), shape=dense.shape)
    major, minor = (rows, columns) if kind(dense).format == "csr" else (columns, rows)
    by_major = np.argsort(major, kind="stable")
    n_major = dense.shape[0] if kind(dense).format == "csr" else dense.shape[1]
    indptr = np.searchsorted(major[by_major], np.arange(n_major + 1))
    return kind((data[by_major], minor[by_major], indptr), shape=dense.shape)


@pytest.mark.parametrize("kind", FORMS)
def test_entries_for_one_place_are_added_and_the_matrix_stays(kind, rng):
    dense = np.round(4 * sp.random_array((30, 9), density=0.4, rng=rng).toarray()) / 4
    X = in_pieces(dense, kind, rng)
    before = [part.copy() for part in (X.data, *(X.coords if X.format == "coo" else (X.indices, X.indptr)))]
    np.testing.assert_array_equal(check_sparse(X, "X").toarray(), dense)
    after = X.data, *(X.coords if X.format == "coo" else (X.indices, X.indptr))
    for mine, was in zip(after, before, strict=True):
        np.testing.assert_array_equal(mine, was)
    small = in_pieces((dense > 0).astype(np.int8) * np.int8(100), kind, rng)
    small.data[:] = 100  # twice is more than int8 holds
    assert check_sparse(small, "X").toarray().max() == 200


@pytest.mark.parametrize("normalizer", [name for name in NORMALIZERS.names if name != "quantile"])
def test_entries_for_one_place_under_every_normalizer(normalizer, rng):
    for kind in FORMS:
        dense = np.round(8 * rng.random((40, 6)) * (rng.random((40, 6)) < 0.6)) / 8
        labels = (rng.random((40, 3)) < 0.4).astype(int)
        X, y = in_pieces(dense, kind, rng), in_pieces(labels, kind, rng)
        model = SMLClassifier("linear", normalizer=normalizer).fit(X, y)
        wanted = SMLClassifier("linear", normalizer=normalizer).fit(sp.csr_array(dense), labels)
        np.testing.assert_allclose(model.label_weights(X), wanted.label_weights(dense), atol=1e-9)
        taught = model.partial_fit(X, y).label_weights(X)
        np.testing.assert_allclose(taught, 2 * wanted.label_weights(dense), atol=1e-9)


@pytest.mark.parametrize("case", SIMILARITY_CASES, ids=str)
def test_entries_for_one_place_under_every_similarity(case, rng):
    dense = np.round(8 * rng.random((25, 6)) * (rng.random((25, 6)) < 0.6)) / 8
    V = np.round(8 * rng.random((25, 2))) / 8
    phi = case.similarity.fit(dense)
    wanted = similarity_sums(dense, dense, V, phi)
    for kind in (sp.csr_array, sp.csc_matrix):
        X = in_pieces(dense, kind, rng)
        found = similarity_sums(X, X, in_pieces(V, kind, rng), case.similarity.fit(X))
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_criteria_add_entries_too(rng):
    dense = (rng.random((20, 5)) < 0.5).astype(int)
    assert hamming_loss(in_pieces(dense, sp.csr_array, rng), dense) == 0.0


@pytest.mark.parametrize(
    "missing", [float("nan"), None, pd.NA, pd.NaT, np.float32("nan"), decimal.Decimal("nan")]
)
def test_a_label_that_is_not_known_is_an_error_and_changes_nothing(missing):
    X = np.eye(3)
    for y in (
        [{"a"}, {"b", missing}, set()],
        [{1}, frozenset([2, missing]), {1}],
        [["a"], ["b", missing], []],
    ):
        with pytest.raises(ValueError, match=r"Input y contains NaN .*row 1"):
            LabelSpace.learn(y)
    model = SMLClassifier("linear").fit(X, [{"a"}, {"b"}, {"a"}])
    with pytest.raises(ValueError, match=r"Input y contains NaN .*row 2"):
        model.partial_fit(X, [{"a"}, {"b"}, {missing}])
    with pytest.raises(ValueError, match=r"Input y contains NaN .*row 0"):
        model.score(X, [{missing}, {"b"}, {"a"}])
    assert model.n_references_ == 3
    with pytest.raises(ValueError, match=r"Input y contains NaN .*row 1"):
        LabelSpace.learn(np.array(["a", missing, "b"], dtype=object))
    with pytest.raises(ValueError, match=r"Input y contains NaN .*row 0"):
        LabelSpace.learn(pd.DataFrame({"a": [missing, 1], "b": [0, 1]}, dtype=object))


DAYS = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="M8[D]")


@pytest.mark.parametrize(
    ("y", "what"),
    [
        (DAYS, "Dates"),
        (DAYS - DAYS[0], "Durations"),
        (np.array([1j, 2, 3]), "Complex data"),
        (np.zeros(3, dtype=[("a", int)]), "Records"),
        (np.array([b"a", b"b", b"a"]), r"Bytes .* np.char.decode\(y\)"),
        (np.array([1, "a", 2], dtype=object), "int, str"),
        (np.array([decimal.Decimal(1), decimal.Decimal(2)]), "Decimal"),
        ([datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)], "date"),
        ([2**63, -1, 5], "as large as 9223372036854775808"),
        ([2**70, 2**70 + 1, 5], "as large as 1180591620717411303425"),
    ],
)
def test_classes_of_other_types_say_what_to_do(y, what):
    with pytest.raises(ValueError, match=f"Unknown label type: .*{what}"):
        LabelSpace.learn(y)


def test_large_classes_stay_apart():
    y = np.array([2**63 - 1, 2**63 - 2, -(2**63)])
    space, indicator = LabelSpace.learn(y)
    assert space.decode(indicator).tolist() == y.tolist()
    model = SMLClassifier("linear").fit(np.eye(3), [{2**63}, {2**63 + 1}, {-1}])
    assert model.classes_.tolist() == [-1, 2**63, 2**63 + 1]


@pytest.mark.parametrize("first", [2**63 - 3, 2**63 - 2, 2**63 - 1, 2**63, 2**64 - 2, 2**70])
def test_large_ids_stay_integers(first):
    X, y = np.eye(2), [{"a"}, {"b"}]
    model = SMLClassifier("linear").fit(X, y, ids=[first - 1, first]).partial_fit(X, y).partial_fit(X, y)
    ids = [first - 1, first, *range(first + 1, first + 5)]
    assert [(type(name), name) for name in model.ids_.tolist()] == [(int, name) for name in ids]
    assert model.forget([first, first + 2]).ids_.tolist() == [ids[0], ids[2], *ids[4:]]
    with pytest.raises(ValueError, match="in use"):
        model.partial_fit(X, y, ids=[first + 1, 0])


@pytest.mark.parametrize("ids", [DAYS, DAYS - DAYS[0], DAYS.astype("M8[ns]"), np.array([1j, 2, 3])])
def test_ids_of_other_types_say_what_to_do(ids):
    with pytest.raises(ValueError, match=r"ids must be whole numbers, strings .* got .*ids.astype\(str\)"):
        check_ids(ids, 3)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
def test_ids_that_are_not_known(missing):
    with pytest.raises(ValueError, match="row 1 has"):
        check_ids(["a", missing], 2)
