import numpy as np
import pytest
import scipy.sparse as sp

from simlabel import SimlabelWarning
from simlabel.datasets import DatasetError, load_dataset


@pytest.fixture
def write(tmp_path):
    def write(text, name="small.arff"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


MEKA = """@relation 'small: -C 2'
@attribute sea {0,1}
@attribute sunset {0,1}
@attribute a numeric
@attribute b real
@data
1,0,0.5,2
0,1,-1e3,+4
"""
HEADER = MEKA[: MEKA.index("1,0,")]


def test_meka_positive_count_means_the_first_attributes(write):
    dataset = load_dataset(write(MEKA))
    assert dataset.label_names == ("sea", "sunset")
    assert dataset.feature_names == ("a", "b")
    assert dataset.X.tolist() == [[0.5, 2.0], [-1000.0, 4.0]]
    assert dataset.Y.toarray().tolist() == [[1, 0], [0, 1]]
    assert dataset.name == "small"


def test_meka_negative_count_means_the_last_attributes(write):
    text = '@relation "x: -split-number 3 -C -1"\n@attribute a numeric\n@attribute l {0,1}\n@data\n'
    text += "3,1\n4,0\n5,1\n"
    dataset = load_dataset(write(text))
    assert dataset.label_names == ("l",)
    assert dataset.Y.toarray().ravel().tolist() == [1, 0, 1]


@pytest.mark.parametrize("count", ["0", "5", "-5", "99999999999"])
def test_meka_count_that_does_not_fit_is_refused(write, count):
    with pytest.raises(DatasetError, match=r"small\.arff"):
        load_dataset(write(MEKA.replace("-C 2", f"-C {count}")))


def test_keywords_in_any_case_tabs_comments_blank_lines_and_windows_line_ends(write):
    text = (
        "% made by hand\r\n\r\n@RELATION\t'x: -c 1' % why not\r\n"
        "@Attribute\tl\t{ 0 , 1 } % the label\r\n"
        "@ATTRIBUTE 'a b%c' NUMERIC\r\n  @attribute c Integer\r\n% more\r\n"
        "@DATA % here\r\n% and here\r\n1, 2.5 , 3\r\n\r\n 0,\t4,5 % there\r\n"
    )
    dataset = load_dataset(write(text))
    assert dataset.feature_names == ("a b%c", "c")
    assert dataset.X.tolist() == [[2.5, 3.0], [4.0, 5.0]]
    assert dataset.Y.toarray().tolist() == [[1], [0]]


def test_byte_order_mark_old_line_ends_and_latin_1(write):
    dataset = load_dataset(write(b"\xef\xbb\xbf" + MEKA.replace("sea", "mér").encode("latin-1")))
    assert dataset.label_names == ("mér", "sunset")
    assert load_dataset(write(MEKA.replace("\n", "\r"))).n_rows == 2


BIRDS = r"""@relation birds
@attribute a numeric
@attribute 'Swainson\'s Thrush' {0,1}
@attribute "Say \"hi\"" {0,1}
@attribute 'Brown, Creeper' {0,1}
@attribute don't {0,1}
@data
1.5,1,0,1,0
2.5,0,1,0,1
"""
NAMES = ("Swainson's Thrush", 'Say "hi"', "Brown, Creeper", "don't")


def _xml(*names):
    from xml.sax.saxutils import quoteattr

    body = "".join(f"<label name={quoteattr(name)}></label>" for name in names)
    return f'<?xml version="1.0"?><labels xmlns="http://mulan.sourceforge.net/labels">{body}</labels>'


@pytest.mark.parametrize("escaped", [True, False])
def test_quotes_in_names_match_the_xml_with_and_without_backslashes(write, escaped):
    in_xml = (r"Swainson\'s Thrush", r"Say \"hi\"", *NAMES[2:]) if escaped else NAMES
    write(_xml(*in_xml), "birds.xml")
    dataset = load_dataset(write(BIRDS, "birds.arff"))
    assert dataset.label_names == NAMES
    assert dataset.Y.toarray().tolist() == [[1, 0, 1, 0], [0, 1, 0, 1]]


def test_labels_by_names_by_number_and_by_xml(write, tmp_path):
    path = write(BIRDS, "birds.arff")
    write(_xml(NAMES[2]), "other.xml")
    assert load_dataset(path, labels=[NAMES[1], NAMES[0]]).label_names == NAMES[:2]
    assert load_dataset(path, labels=-4).label_names == NAMES
    assert load_dataset(path, labels=tmp_path / "other.xml").label_names == NAMES[2:3]


def test_error_for_unknown_labels_lists_the_options(write):
    with pytest.raises(DatasetError, match=r"birds\.xml.*-C n.*labels="):
        load_dataset(write(BIRDS, "birds.arff"))
    with pytest.raises(DatasetError, match=r"no\.xml: there is no such file"):
        load_dataset(write(BIRDS, "birds.arff"), labels="no.xml")
    with pytest.raises(DatasetError, match="'eagle' is not one"):
        load_dataset(write(BIRDS, "birds.arff"), labels=["eagle"])


def test_hierarchical_xml_gives_all_labels(write):
    write(
        '<labels xmlns="x">\n <label name="Brown, Creeper">\n'
        '  <label name="don\'t"/>\n </label>\n</labels>\n',
        "birds.xml",
    )
    assert load_dataset(write(BIRDS, "birds.arff")).label_names == NAMES[2:]


@pytest.mark.parametrize(
    ("xml", "line", "expected"),
    [
        ("<labels>\n<label/></labels>", 2, "expected <label name"),
        ("<labels>\n<label name='a'></labels>", 2, "mismatched tag"),
        ("<labels>\n<other/></labels>", 2, "found <other>"),
        ("<labels>\n<label name='a'/>\n<label name='a'/></labels>", 3, "twice"),
        ("<!DOCTYPE labels [\n<!ENTITY a 'aaa'>]><labels/>", 1, "document type"),
        ("<labels></labels>", None, "at least one"),
        ("<labels>\n<label name='eagle'/></labels>", 2, "'eagle' is not one"),
        ("", 1, "no element found"),
    ],
)
def test_malformed_xml_is_named_with_its_line(write, xml, line, expected):
    path = write(BIRDS, "birds.arff")
    write(xml, "birds.xml")
    with pytest.raises(DatasetError, match=expected) as caught:
        load_dataset(path)
    assert caught.value.line == line
    assert caught.value.path.endswith("birds.xml")


def test_nominal_is_one_hot_and_binary_is_one_column(write):
    text = (
        "@relation 'x: -C 1'\n@attribute l {FALSE,TRUE}\n@attribute color {red, 'light blue', \"o'k\"}\n"
        "@attribute flag {0,1}\n@attribute one {1}\n@attribute n numeric\n@data\n"
        "TRUE,'light blue',1,1,7\nFALSE,red,0,1,8\nTRUE,\"o'k\",0,1,9\n"
    )
    dataset = load_dataset(write(text))
    assert dataset.feature_names == ("color=red", "color=light blue", "color=o'k", "flag", "one", "n")
    assert dataset.X.tolist() == [[0, 1, 0, 1, 1, 7], [1, 0, 0, 0, 1, 8], [0, 0, 1, 0, 1, 9]]
    assert dataset.n_attributes == 4
    assert dataset.Y.toarray().ravel().tolist() == [1, 0, 1]


SPARSE = """@relation 'x: -C 2'
@attribute l {0,1}
@attribute m {1,0}
@attribute color {red,blue}
@attribute 'n n' numeric
@attribute b {0,1}
@data
{0 1, 2 blue, 3 2.5}
{}
{ 1 0,3 -1,4 1 }
{3 0}
"""


def test_sparse_row_leaves_out_the_first_value_of_a_nominal_attribute(write):
    dataset = load_dataset(write(SPARSE))
    assert isinstance(dataset.X, sp.csr_array)
    assert dataset.feature_names == ("color=red", "color=blue", "n n", "b")
    assert dataset.X.toarray().tolist() == [[0, 1, 2.5, 0], [1, 0, 0, 0], [1, 0, -1, 1], [1, 0, 0, 0]]
    assert dataset.X.nnz == 7  # the explicit zero of the last row is not stored
    assert dataset.Y.toarray().tolist() == [[1, 1], [0, 1], [0, 0], [0, 1]]


def test_sparse_and_dense_say_the_same(write):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((30, 5)) < 0.4, rng.integers(1, 9, (30, 5)), 0)
    Y = (rng.random((30, 2)) < 0.3).astype(int)
    header = "@relation 'x: -C -2'\n" + "".join(f"@attribute a{j} numeric\n" for j in range(5))
    header += "@attribute l {0,1}\n@attribute m {0,1}\n@data\n"
    rows = np.hstack([X, Y]).tolist()
    dense = "".join(",".join(map(str, row)) + "\n" for row in rows)
    sparse = "".join(
        "{" + ",".join(f"{j} {value}" for j, value in enumerate(row) if value) + "}\n" for row in rows
    )
    one, other = load_dataset(write(header + dense)), load_dataset(write(header + sparse, "s.arff"))
    assert np.array_equal(one.X, X)
    assert np.array_equal(other.X.toarray(), X)
    assert np.array_equal(one.Y.toarray(), Y)
    assert np.array_equal(other.Y.toarray(), Y)


def test_missing_values_are_an_error_or_imputed(write):
    path = write(HEADER + "1,0,?,2\n0,1,3,?\n1,1,5,\n0,0,?,4\n")
    with pytest.raises(DatasetError, match="line 7: expected a value for 'a', found a missing one") as caught:
        load_dataset(path)
    assert "missing='mean'" in str(caught.value)
    assert load_dataset(path, missing="mean").X.tolist() == [[4, 2], [3, 3], [5, 3], [4, 4]]
    assert load_dataset(path, missing="median").X[0, 0] == 4
    assert load_dataset(path, missing="most_frequent").X[0, 0] == 3
    with pytest.raises(ValueError, match="missing must be one of"):
        load_dataset(path, missing="guess")


def test_missing_values_in_sparse_and_nominal(write):
    dataset = load_dataset(write(SPARSE + "{2 ?,3 ?}\n"), missing="mean")
    assert dataset.X.toarray()[4].tolist() == [0, 0, (2.5 - 1) / 4, 0]


def test_missing_labels_are_always_an_error(write):
    with pytest.raises(DatasetError, match=r"line 7.*every row needs known labels"):
        load_dataset(write(HEADER + "?,0,1,2\n"), missing="mean")


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        (HEADER + "1,0,1\n", 7, "expected 4 values"),
        (HEADER + "1,0,1,2\n1,0,1,2,3\n", 8, "expected 4 values"),
        (HEADER + "1,0,one,2\n", 7, "a finite number for 'a', found 'one'"),
        (HEADER + "1,0,nan,2\n", 7, "a finite number for 'a'"),
        (HEADER + "1,0,1e999,2\n", 7, "a finite number for 'a'"),
        (HEADER + "1,0,1_0,2\n", 7, "a finite number for 'a'"),
        (HEADER + "2,0,1,2\n", 7, "one of '0, 1' for 'sea', found '2'"),
        (HEADER + "1,0,'1,2\n", 7, "expected 4 values"),
        (HEADER + "1,0,1,2\n{0 1}\n", 8, "expected 4 values"),
        (HEADER + "{0 1}\n1,0,1,2\n", 8, "expected a sparse row"),
        (HEADER + "{0 1,4 1}\n", 7, "indices below 4"),
        (HEADER + "{0 1,-1 1}\n", 7, "expected a sparse row"),
        (HEADER + "{0 1,1000000000000000 1}\n", 7, "indices below 4"),
        (HEADER + "{2 1,2 5}\n", 7, "each index once"),
        (HEADER + "{2 1\n", 7, "expected a sparse row"),
        (HEADER + r"1,0,'\999',2" + "\n", 7, "expected 4 values"),
        (HEADER, None, "at least one row"),
        (HEADER.replace("@data", ""), 6, "line @data"),
        ("", None, "expected a data set"),
        ("@relation x\n@data\n1\n", 2, "@attribute lines before"),
        ("@relation x\n@attribute a\n", 2, "expected a type"),
        ("@relation x\n@attribute\n", 2, "name of an attribute"),
        ("@relation x\n@attribute {0,1}\n", 2, "name of an attribute"),
        ("@relation x\n@attribute a {0,1\n", 2, "closing }"),
        ("@relation x\n@attribute a {0,,1}\n", 2, "between the commas"),
        ("@relation x\n@attribute a {0,{1}}\n", 2, "one pair of braces"),
        ("@relation x\n@attribute a {0,0}\n", 2, "once"),
        ("@relation x\n@attribute 'a {0,1}\n", 2, "closing quote"),
        ("@relation x\n@attribute a numbers\n", 2, "found 'numbers'"),
        ("@relation x\n@attribute a string\n", 2, r"text \(string\)"),
        ("@relation x\n@attribute a date 'yyyy-MM-dd'\n", 2, r"a date \(date\)"),
        ("@relation x\n@attribute a relational\n", 2, "a table of its own"),
        ("@relation x\n@attribute a real\n@attribute a real\n", 3, "second time .first on line 2"),
        ("@relation x\nattribute a real\n", 2, "expected @relation, @attribute or @data"),
        (HEADER.replace("{0,1}", "{a,b}", 1) + "a,0,1,2\n", 2, "a label with the values 0 and 1"),
        (
            HEADER.replace("sea {0,1}", "sea numeric") + "3,0,1,2\n",
            7,
            "0 or 1 for the label 'sea', found '3'",
        ),
        ("@relation 'x: -C 1'\n@attribute l {0,1}\n@data\n1\n", None, "at least one feature"),
    ],
)
def test_malformed_file_is_named_with_its_line(write, text, line, expected):
    with pytest.raises(DatasetError, match=expected) as caught:
        load_dataset(write(text))
    assert caught.value.line == line
    assert caught.value.path.endswith("small.arff")
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_numeric_labels_and_gzip(write):
    import gzip

    text = MEKA.replace("sea {0,1}", "sea numeric").replace("\n1,0,", "\n1.0,0,")
    dataset = load_dataset(write(gzip.compress(text.encode()), "small.arff.gz"))
    assert dataset.Y.toarray().tolist() == [[1, 0], [0, 1]]
    assert dataset.name == "small"


def test_damaged_gzip(write):
    import gzip

    with pytest.raises(DatasetError, match="damaged"):
        load_dataset(write(gzip.compress(MEKA.encode() * 200)[:-20], "small.arff.gz"))


def test_nominal_attribute_with_very_many_values_stays_sparse(write):
    values = ",".join(f"v{k}" for k in range(500))
    text = f"@relation 'x: -C 1'\n@attribute l {{0,1}}\n@attribute v {{{values}}}\n@data\n1,v3\n0,v499\n"
    dataset = load_dataset(write(text))
    assert isinstance(dataset.X, sp.csr_array)
    assert dataset.X.shape == (2, 500)
    assert dataset.X.indices.tolist() == [3, 499]


def test_xml_file_overrides_the_count_in_the_relation(write):
    """Mulan files that went through MEKA keep a -C that is no longer true."""
    write(_xml("b"), "small.xml")
    text = "@relation 'small: -C 1'\n@attribute a {0,1}\n@attribute b {0,1}\n@data\n1,0\n0,1\n"
    assert load_dataset(write(text, "small.arff")).label_names == ("b",)
    assert load_dataset(write(text, "other.arff")).label_names == ("a",)


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("big-sparse.arff", ("a",)),
        ("big-train-sparse.arff", ("a",)),
        ("big-2-sparse.arff", ("b",)),
        ("bigger.arff", None),
    ],
)
def test_xml_is_the_longest_name_that_the_file_begins_with(write, name, labels):
    write(_xml("a"), "big.xml")
    write(_xml("b"), "big-2.xml")
    path = write("@relation x\n@attribute a {0,1}\n@attribute b {0,1}\n@data\n1,0\n0,1\n", name)
    if labels is None:
        with pytest.raises(DatasetError, match="which attributes are labels"):
            load_dataset(path)
    else:
        assert load_dataset(path).label_names == labels


@pytest.mark.filterwarnings("ignore::simlabel._utils.advice.DataWarning")
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("n_declared", "n_used"), [(40, 24), (24, 24), (40, 3), (3, 3)])
def test_a_nominal_attribute_that_identifies_rows_is_left_out(write, sparse, n_declared, n_used):
    """What counts is how many values occur, not how many are declared."""
    declared = ",".join(f"v{k}" for k in range(n_declared))
    text = (
        f"@relation 'x: -C 1'\n@attribute l {{0,1}}\n@attribute a numeric\n@attribute name {{{declared}}}\n"
    )
    text += "@attribute hue {red,blue}\n@attribute b numeric\n@data\n"
    cells = [(i % 2, i, f"v{i % n_used}", "red" if i % 3 else "blue", 2 * i) for i in range(24)]
    for row in cells:
        listed = ",".join(f"{j} {value}" if sparse else str(value) for j, value in enumerate(row))
        text += f"{{{listed}}}\n" if sparse else f"{listed}\n"
    found = load_dataset(write(text))
    names = [] if n_used == 24 else [f"name=v{k}" for k in range(n_declared)]
    assert found.feature_names == ("a", *names, "hue=red", "hue=blue", "b")
    assert found.n_attributes == 4 - (n_used == 24)
    X = found.X.toarray() if sp.issparse(found.X) else found.X
    others = X[:, [0, -3, -2, -1]].tolist()
    assert others == [[a, hue == "red", hue == "blue", b] for _, a, _, hue, b in cells]


def test_what_identifies_rows_is_named_in_a_warning(write):
    text = "@relation 'x: -C 1'\n@attribute l {0,1}\n@attribute a numeric\n@attribute name {"
    text += ",".join(f"v{k}" for k in range(30)) + "}\n@data\n" + "".join(f"1,2,v{k}\n" for k in range(30))
    with pytest.warns(
        SimlabelWarning, match="'name' is left out: 30 different texts in 30 rows identify rows"
    ):
        load_dataset(write(text))
