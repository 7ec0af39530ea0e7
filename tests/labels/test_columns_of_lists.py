"""y as pyarrow and polars have it: tables keep their names, a missing list is refused with its row."""

from __future__ import annotations

import numpy as np
import pytest

from simlabel import SMLClassifier

X = np.eye(4)


def test_a_pyarrow_table_as_y_keeps_the_names_of_its_columns():
    pa = pytest.importorskip("pyarrow")
    model = SMLClassifier("linear").fit(X, pa.table({"sea": [1, 0, 1, 0], "sun": [0, 1, 0, 1]}))
    assert model.classes_.tolist() == ["sea", "sun"]


@pytest.mark.parametrize("kind", ["pyarrow", "polars"])
def test_a_missing_list_of_labels_is_refused_with_its_row(kind):
    library = pytest.importorskip(kind)
    rows = [["sea"], None, ["sun", "sea"], []]
    y = library.Series(rows) if kind == "polars" else library.chunked_array([rows[:1], rows[1:]])
    with pytest.raises(ValueError, match="row 1 is missing, where a list of labels is expected"):
        SMLClassifier("linear").fit(X, y)
