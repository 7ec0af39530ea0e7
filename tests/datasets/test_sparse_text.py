import io

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from simlabel.datasets import DatasetError, load_dataset


@pytest.fixture
def write(tmp_path):
    def write(text, name):
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return write


def test_svmlight_labels_are_the_numbers_that_occur(write):
    dataset = load_dataset(write("# made by hand\n3,10 1:0.5 4:2 # first\n\n 2:1\n10, 2 4:1e-3\n", "a.svm"))
    assert dataset.label_names == ("2", "3", "10")
    assert dataset.Y.toarray().tolist() == [[0, 1, 1], [0, 0, 0], [1, 0, 1]]
    assert dataset.X.toarray().tolist() == [[0.5, 0, 0, 2], [0, 1, 0, 0], [0, 0, 0, 0.001]]
    assert list(dataset.feature_names) == ["0", "1", "2", "3"]


def test_svmlight_zero_based(write):
    path = write("1 1:5\n2 2:5\n", "a.svm")
    assert load_dataset(path).X.shape == (2, 2)
    assert load_dataset(path, zero_based=True).X.shape == (2, 3)
    with pytest.raises(DatasetError, match="line 2: expected feature indices from 1 on"):
        load_dataset(write("1 1:5\n2 0:5\n", "a.svm"), zero_based=False)


def test_svmlight_query_ids_float_labels_and_unsorted_features(write):
    dataset = load_dataset(write("1.0,2 qid:7 3:1 1:2\r\n-1 qid:8 2:4\r\n", "a.txt"))
    assert dataset.label_names == ("-1", "1", "2")
    assert dataset.X.toarray().tolist() == [[2, 0, 1], [0, 4, 0]]


@st.composite
def problems(draw):
    n_rows, n_columns, n_labels = draw(st.integers(1, 6)), draw(st.integers(1, 5)), draw(st.integers(1, 4))
    values = st.sampled_from([0.0, 0.0, 1.0, -2.5, 1e-7, 123456.789])
    X = np.array(draw(st.lists(values, min_size=n_rows * n_columns, max_size=n_rows * n_columns)))
    Y = np.array(draw(st.lists(st.booleans(), min_size=n_rows * n_labels, max_size=n_rows * n_labels)))
    X, Y = X.reshape(n_rows, n_columns), Y.reshape(n_rows, n_labels)
    X[:, -1] = 1.0  # a row with nothing in it is skipped by scikit-learn
    return X, Y.astype(int)


@given(problems(), st.booleans())
@settings(deadline=None, max_examples=50)
def test_svmlight_as_scikit_learn_reads_it(tmp_path_factory, problem, zero_based):
    X, Y = problem
    stream = io.BytesIO()
    dump_svmlight_file(sp.csr_array(X), Y, stream, multilabel=True, zero_based=zero_based)
    path = tmp_path_factory.mktemp("svm") / "a.svm"
    path.write_bytes(stream.getvalue())
    ours = load_dataset(path, format="svmlight", zero_based=zero_based) if Y.any() else None
    expected_X, expected_y = load_svmlight_file(
        io.BytesIO(stream.getvalue()), multilabel=True, zero_based=zero_based
    )
    if ours is None:
        with pytest.raises(DatasetError, match="at least one label"):
            load_dataset(path, format="svmlight")
        return
    assert np.array_equal(ours.X.toarray(), expected_X.toarray())
    names = np.array(ours.label_names, dtype=float)
    sets = [tuple(names[row.astype(bool)]) for row in ours.Y.toarray()]
    assert sets == expected_y


XMC = "3 5 4\n0,2 1:0.5 4:2\n 0:1\n3 2:1\n"


def test_xmc(write):
    dataset = load_dataset(write(XMC, "Wiki-train.txt"))
    assert dataset.name == "Wiki"
    assert dataset.X.toarray().tolist() == [[0, 0.5, 0, 0, 2], [1, 0, 0, 0, 0], [0, 0, 1, 0, 0]]
    assert dataset.Y.toarray().tolist() == [[1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1]]
    assert list(dataset.label_names) == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    "text",
    [
        XMC.replace("\n", "\r\n"),
        "\ufeff" + XMC,
        XMC.replace("\n3 ", "\n\n3 "),
        "# note\n" + XMC,
        XMC + "\n\n",
    ],
)
def test_xmc_line_ends_comments_and_blank_lines(write, text):
    assert load_dataset(write(text, "a.txt")).n_rows == 3


def test_xmc_empty_line_is_a_row_where_the_header_counts_it(write):
    dataset = load_dataset(write("4 5 4\n0,2 1:0.5 4:2\n\n 0:1\n3 2:1\n", "a.txt"))
    assert dataset.Y.sum(axis=1).tolist() == [2, 0, 0, 1]


def test_xmc_label_twice_counts_once_and_blank_after_comma(write):
    dataset = load_dataset(write("2 2 3\n1,1, 2 0:1\n0\t1:1\n", "a.txt"))
    assert dataset.Y.toarray().tolist() == [[0, 1, 1], [1, 0, 0]]


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("1000000000000 5 4\n0 1:1\n", 2, "expected 1000000000000 rows"),
        ("1 1000000000000 4\n0 1:1\n", 1, "features, found 1000000000000"),
        ("1 5 1000000000000\n0 1:1\n", 1, "labels, found 1000000000000"),
        ("1 0 4\n0 1:1\n", 1, "features, found 0"),
        ("2 5 4\n0 1:1\n", 2, "expected 2 rows, as the first line says, found 1"),
        ("1 5 4\n0 1:1\n1 1:1\n", 3, "expected 1 rows"),
        ("1 5 4\n4 1:1\n", 2, "a label from 0 to 3, found 4"),
        ("1 5 4\n-1 1:1\n", 2, "a label from 0 to 3, found -1"),
        ("1 5 4\n0 5:1\n", 2, "a feature from 0 to 4, found 5"),
        ("1 5 4\n0 1:1 1:2\n", 2, "each feature once"),
        ("1 5 4\n0 1:x\n", 2, "expected index:value, found '1:x'"),
        ("1 5 4\n0 x:1\n", 2, "expected index:value"),
        ("1 5 4\n0 1\n", 2, "expected index:value"),
        ("1 5 4\n0 1:nan\n", 2, "expected index:value"),
        ("1 5 4\na,b 1:1\n", 2, "labels as whole numbers"),
        ("1 5 4\n0,,1 1:1\n", 2, "labels as whole numbers"),
        ("1 5 4\n0.5 1:1\n", 2, "labels as whole numbers"),
    ],
)
def test_malformed_xmc_is_named_with_its_line(write, text, line, expected):
    with pytest.raises(DatasetError, match=expected) as caught:
        load_dataset(write(text, "a.txt"))
    assert caught.value.line == line
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_svmlight_index_out_of_all_bounds(write):
    with pytest.raises(DatasetError, match="line 2: expected a feature index from 0 to 2147483646"):
        load_dataset(write("1 1:1\n2 1000000000000000:1\n", "a.svm"))
    wide = load_dataset(write("1 2147483646:1\n", "a.svm"), max_gib=16)
    assert wide.X.shape == (1, 2147483646)
    assert wide.feature_names[-1] == "2147483645"
