"""References in chunks read as one matrix, and grow and shrink exactly."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from similarity_cases import SIMILARITY_CASES, WEIGHTING_CASES
from simlabel._utils.rows import Stack
from simlabel.sums import Chunk, Exact, Exclude, Job, ReduceCall, References, prepare, reducer_for


def cut(X, ends):
    return [X[a:b] for a, b in zip([0, *ends], [*ends, X.shape[0]], strict=True)]


@given(
    ends=st.lists(st.integers(0, 20), max_size=4).map(sorted),
    bounds=st.tuples(st.integers(0, 20), st.integers(0, 20)),
    rows=st.lists(st.integers(0, 19), max_size=6),
    kind=st.sampled_from([np.asarray, sp.csr_array, sp.csr_matrix]),
)
def test_a_stack_reads_as_one(ends, bounds, rows, kind):
    whole = np.arange(40.0).reshape(20, 2)
    stack = Stack(cut(kind(whole), ends))
    part = slice(*bounds)
    dense = (lambda A: A.toarray()) if kind is not np.asarray else np.asarray
    assert stack.shape == whole.shape
    assert np.array_equal(dense(stack[part]), whole[part])
    assert np.array_equal(dense(stack[np.array(rows, dtype=int)]), whole[rows])
    assert type(stack[part]) is type(kind(whole))


def test_a_stack_of_objects():
    stack = Stack([["a", "b"], ["c"], ["d", "e"]])
    assert stack[1:4] == ["b", "c", "d"]
    assert stack[np.array([4, 0, 2])] == ["e", "a", "c"]
    assert stack.shape == (5,)
    assert stack.whole() == list("abcde")


@pytest.mark.parametrize("which", WEIGHTING_CASES, ids=str)
@pytest.mark.parametrize("case", SIMILARITY_CASES, ids=str)
def test_sums_over_chunks_are_the_sums(case, which, rng, small_blocks):
    small_blocks()
    X, V, Q = rng.random((23, 4)), rng.random((23, 3)), rng.random((5, 4))
    similarity = case.similarity.fit(X)
    exclude = Exclude(np.array([0, 7, -1, 22, 5]), np.zeros(5))
    ends = [1, 7, 9, 20]
    for make in (np.asarray, sp.csr_array):
        Xm, Vm = make(X), make(V)
        known = prepare(Stack(cut(Xm, ends)[:3]), [similarity], keep_views=True)
        pieces = [*known.X.pieces, *cut(Xm, ends)[3:]]
        prepared = prepare(Stack(pieces), [similarity], keep_views=True, known=known)
        chunked = reducer_for(which.weighting, Stack(cut(Vm, ends)))
        whole = reducer_for(which.weighting, Vm)
        sums = [
            Exact().reduce(ReduceCall(Q, p, [Job(similarity, which.weighting, r)], exclude))[0]
            for p, r in ((prepared, chunked), (prepare(Xm, [similarity]), whole))
        ]
        np.testing.assert_allclose(sums[0], sums[1], rtol=1e-9, atol=1e-12)


def test_what_is_known_is_not_read_again(rng):
    class Unreadable(np.ndarray):
        def __getitem__(self, index):
            raise AssertionError("read again")

    similarity = SIMILARITY_CASES[0].similarity
    first, second = rng.random((4, 2)), rng.random((3, 2))
    known = prepare(first, [similarity])
    first_again = first.view(Unreadable)
    object.__setattr__(known, "X", first_again)
    prepared = prepare(Stack([first_again, second]), [similarity], known=known)
    np.testing.assert_allclose(prepared.norms["dot", ()][:], (np.vstack([first, second]) ** 2).sum(axis=1))


def chunk(rng, n, first):
    Y = sp.csr_array((rng.random((n, 3)) < 0.5).astype(np.int8))
    return Chunk(rng.random((n, 2)), Y, np.ones(n), range(first, first + n), None)


def test_many_small_batches_stay_few_chunks(rng, change_limits):
    change_limits(tail_rows=64)
    references, rows = References.of([chunk(rng, 5, 0)], 5), 5
    batches = [references.chunks[0]]
    for _ in range(500):
        batches.append(chunk(rng, 1, rows))
        references, rows = references.taught(batches[-1]), rows + 1
    assert len(references.chunks) < 505 / 32 + 6
    assert max(len(c) for c in references.chunks) <= 64
    assert references.ids.tolist() == list(range(505))
    assert all(isinstance(c.ids, range) for c in references.chunks)
    assert np.array_equal(references.X[:], np.vstack([b.X for b in batches]))
    assert np.array_equal(references.Y.toarray(), np.vstack([b.Y.toarray() for b in batches]))


def test_what_is_forgotten_is_in_no_array(rng, change_limits):
    change_limits(tail_rows=8)
    change_limits(piece_rows=12)
    references = References.of([chunk(rng, 40, 0)], 40)
    for i in range(5):
        references = references.taught(chunk(rng, 3, 40 + 3 * i))
    removed = [0, 17, 41, 54]
    secrets = [references.X[np.array([g])].tobytes() for g in removed]
    left = references.without(references.positions(removed))
    assert left.ids.tolist() == [i for i in range(55) if i not in removed]
    assert references.n_rows == 55
    held = [c.X if c.X.base is None else c.X.base for c in left.chunks]
    assert not any(secret in array.tobytes() for secret in secrets for array in held)
    assert left.positions([0, 1, 54, "x"]).tolist() == [-1, 0, -1, -1]
