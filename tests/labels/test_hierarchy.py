"""Labels that are part of others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from simlabel.labels import Hierarchy, as_hierarchy


@st.composite
def dags(draw):
    """Parents with smaller numbers only, so that there is no circle."""
    n = draw(st.integers(1, 8))
    parents = {k: draw(st.lists(st.integers(0, k - 1), max_size=3, unique=True)) for k in range(1, n)}
    return n, parents


def above(parents, k):
    """All labels above one, in plain recursion."""
    return {j for parent in parents.get(k, []) for j in {parent} | above(parents, parent)}


@given(dags())
def test_closure_of_any_dag(dag):
    n, parents = dag
    hierarchy = as_hierarchy(parents)
    A = hierarchy.closure(np.arange(n)).toarray()
    for k in range(n):
        assert set(np.flatnonzero(A[k])) == {k} | above(parents, k)
        assert set(hierarchy.above(k)) == above(parents, k)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=4))
def test_paths(steps):
    label = "::".join(steps)
    expected = ["::".join(steps[:i]) for i in range(len(steps) - 1, 0, -1)]
    assert Hierarchy(separator="::").above(label) == expected


@pytest.mark.parametrize("label", ["::a", "a", 3, None, ""])
def test_what_is_no_path_has_nothing_above(label):
    assert Hierarchy(separator="::").above(label) == []


@pytest.mark.parametrize("parents", [{"a": "a"}, {"a": "b", "b": "a"}, {"a": ["x", "b"], "b": "c", "c": "a"}])
def test_a_circle_is_refused(parents):
    with pytest.raises(ValueError, match=r"'[abc]' is its own ancestor"):
        as_hierarchy(parents)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (3, TypeError, "hierarchy must be"),
        ("", ValueError, "separator must be a string such as '::', got ''"),
        (Hierarchy(), ValueError, "either parents or separator"),
        (Hierarchy({"a": "b"}, "::"), ValueError, "either parents or separator"),
        (Hierarchy([("a", "b")]), ValueError, "parents must be a dict"),
    ],
)
def test_what_is_no_hierarchy_is_said(given, error, words):
    with pytest.raises(error, match=words):
        as_hierarchy(given)


def test_it_is_cloned_and_compared_as_parameters_are():
    hierarchy = Hierarchy({"imap": "mail"})
    assert clone(hierarchy).parents == {"imap": "mail"}
    assert as_hierarchy(None) is None
    assert as_hierarchy(hierarchy) is hierarchy
