"""Label cells: lists in texts, hashtags, empty cells; and vectors in feature cells."""

import numpy as np
import pandas as pd
import pytest

from simlabel import SMLClassifier, Tagger
from simlabel.tables import TableWarning, label_sets, separator_for

PLOTS = ["a shark hunts at sea", "a shark in the sea", "love in spring", "a tale of love"] * 3
SETS = [["horror", "sea, deep"], ["sea, deep"], ["romance"], []] * 3
WRITTEN = {
    "json": [str(each).replace("'", '"') for each in SETS],
    "python": [str(each) for each in SETS],
    "braces": ['{horror,"sea, deep"}', '{"sea, deep"}', "{romance}", "{}"] * 3,
}


@pytest.mark.parametrize("how", WRITTEN)
def test_lists_in_texts(how):
    y = WRITTEN[how]
    expected = [set(each) for each in SETS]
    assert label_sets(y, separator_for(y, "auto")) == expected
    model = Tagger().fit(PLOTS, pd.Series(y))
    assert model.classes_.tolist() == ["horror", "romance", "sea, deep"]
    assert model.n_references_ == 12  # an empty list means that no label applies


def test_hashtags_are_labels():
    y = ["#sea #shark", "#love", "#sea"]
    assert label_sets(y, separator_for(y, "auto")) == [{"sea", "shark"}, {"love"}, {"sea"}]


def test_a_few_brackets_do_not_make_a_column_of_lists():
    y = ["a; b", "[c]", "a"]
    assert label_sets(y, separator_for(y, "auto")) == [{"a", "b"}, {"[c]"}, {"a"}]


@pytest.mark.parametrize("nothing", [None, "", float("nan"), "  "])
def test_empty_cells_are_untagged(nothing):
    y = ["sea", "sea", "love", "love"] * 3 + [nothing] * 2
    X = [*PLOTS, "a shark", "a song"]
    ids = [f"row {k}" for k in range(14)]
    with pytest.warns(TableWarning, match="2 of 14 rows have an empty label cell"):
        model = Tagger().fit(X, y, ids=ids, sample_weight=np.ones(14), groups=ids)
    assert model.ids_.tolist() == ids[:12]
    with pytest.warns(TableWarning, match="1 of 2 rows"):
        model.partial_fit(["a shark", "a tale"], ["sea", nothing], ids=["new", "other"])
    assert model.ids_.tolist() == [*ids[:12], "new"]
    with pytest.warns(TableWarning, match="1 of 2 rows"):
        model.replace_rows(["new"], ["a shark", "a tale"], ["sea", nothing], ids=["newer", "other"])
    assert model.ids_.tolist() == [*ids[:12], "newer"]
    with pytest.warns(TableWarning, match="1 of 2 rows"):
        assert model.score(["a shark in the sea", "what"], ["sea", nothing]) in (0.0, 1.0)
    assert Tagger(empty="none").fit(X, y).n_references_ == 14


def test_empty_sets_mean_no_labels():
    y = [{"sea"}, {"sea"}, {"love"}, set()] * 3
    assert Tagger().fit(PLOTS, y).n_references_ == 12


def test_invalid_empty_and_no_tagged_row():
    with pytest.raises(ValueError, match="'untagged' or 'none', got 'all'"):
        Tagger(empty="all").fit(PLOTS, ["sea"] * 12)
    with pytest.raises(ValueError, match="all 3 rows are untagged"):
        Tagger().fit(PLOTS[:3], [None] * 3)


@pytest.mark.parametrize("cell", [[0.25, -1.5, 3.0], "[0.25, -1.5, 3.0]"])
@pytest.mark.parametrize("columns", [None, {"vector": "number"}])
def test_vectors_in_cells_are_refused(cell, columns):
    X = pd.DataFrame({"vector": [cell] * 11 + [[1.0, 2.0, 3.0]], "plot": PLOTS})
    with pytest.raises(ValueError, match=r"'vector' holds lists of numbers.*AutoSMLClassifier.*'multi'"):
        Tagger(columns).fit(X, SETS)
    Tagger({"vector": "ignore"}).fit(X, SETS)


def test_explanation_without_terms_is_shown():
    X = pd.DataFrame({"v": [["x"], ["y"], ["z"], ["w"]] * 3})
    model = Tagger().fit(X, [{"a"}, {"b"}, {"a"}, {"b"}] * 3)
    found = model.explain(pd.DataFrame({"v": [["unseen"]]}))
    assert "a" in str(found)
    assert "a" in found._repr_html_()


@pytest.mark.parametrize("library", ["polars", "pyarrow", "pandas"])
def test_list_columns_of_frame_libraries_are_label_sets(library):
    rows = [["a"], ["b", "a"], ["b"]]
    if library == "pandas":
        y = pd.Series([np.array(row, dtype=object) for row in rows])
    else:
        module = pytest.importorskip(library)
        y = module.Series(rows) if library == "polars" else module.array(rows)
    model = SMLClassifier().fit([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], y)
    assert model.classes_.tolist() == ["a", "b"]


def test_a_pyarrow_table_is_a_table():
    pa = pytest.importorskip("pyarrow")
    model = Tagger().fit(pa.table({"plot": PLOTS}), pa.array(SETS))
    assert model.feature_names_in_.tolist() == ["plot"]
    assert model.n_references_ == 12
