"""Data sets from OpenML, against a local server that answers as OpenML does."""

import hashlib
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import Request
from urllib.request import urlopen as real_urlopen

import pytest

from openml_answers import ARFF, OpenML, answered_by
from simlabel.datasets import OPENML, DatasetError, OpenMLSet, load_dataset


@pytest.fixture
def openml(monkeypatch, tmp_path):
    """A server in place of OpenML, an empty cache, and no other source for yeast."""
    state = OpenML()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = state.answer(self.path)
            self.send_response(404 if body is None else 200)
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    state.address = f"http://127.0.0.1:{server.server_port}"

    def urlopen(request, *args, **kwargs):
        url = re.sub(r"https?://(www|api)\.openml\.org", state.address, request.full_url)
        return real_urlopen(Request(url), *args, **kwargs)

    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    monkeypatch.delenv("SIMLABEL_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "river", None)
    monkeypatch.setitem(OPENML, "yeast", OpenMLSet(7, 3, 2, 2))
    with answered_by(urlopen):
        yield state
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_set_is_fetched_and_cached(openml):
    yeast = load_dataset("yeast")
    assert yeast.name == "yeast"
    assert yeast.X.tolist() == [[0.5, 1], [1.5, 2], [2.5, 3]]
    assert yeast.Y.toarray().tolist() == [[1, 0], [0, 0], [1, 1]]
    assert yeast.label_names == ("Class1", "Class2")
    assert any("download" in path for path in openml.requests)
    openml.requests.clear()
    assert load_dataset("yeast").X.tolist() == yeast.X.tolist()
    assert openml.requests == []  # the second time nothing is requested from the server


@pytest.mark.filterwarnings("ignore:Invalid cache:RuntimeWarning")
def test_a_file_that_does_not_match_its_checksum_is_refused(openml):
    openml.data = ARFF.replace(b"0.5", b"0.6")
    with pytest.raises(DatasetError, match="md5 checksum"):
        load_dataset("yeast")


@pytest.mark.parametrize("wrong", [b"@ATTRIBUTE Att1 NUMERICAL", b"@ATTRIBUTE", b"x"])
def test_a_file_that_does_not_follow_its_format_is_refused(openml, wrong):
    openml.data = ARFF.replace(b"@ATTRIBUTE Att1 NUMERIC", wrong)
    openml.checksum = hashlib.md5(openml.data).hexdigest()
    with pytest.raises(DatasetError, match="expected the data set as OpenML describes it"):
        load_dataset("yeast")


@pytest.mark.filterwarnings("ignore:Invalid cache:RuntimeWarning")
def test_a_damaged_cache_is_fetched_again(openml, tmp_path):
    load_dataset("yeast")
    (cached,) = (tmp_path / "cache").rglob("tiny.arff.gz")
    cached.write_bytes(b"damaged")
    assert load_dataset("yeast").n_rows == 3


def test_a_set_of_another_size_is_refused(openml, monkeypatch):
    monkeypatch.setitem(OPENML, "yeast", OpenMLSet(7, 2417, 103, 14))
    with pytest.raises(
        DatasetError, match=r"expected \(2417, 103, 14\) rows, features and labels, found \(3, 2, 2\)"
    ):
        load_dataset("yeast")


@pytest.mark.parametrize("address", ["http://127.0.0.1:9", None])
def test_without_an_answer_the_error_lists_the_ways_to_obtain_it(openml, address):
    if address is None:
        openml.features = []
        openml.answer = lambda path: None
    else:
        openml.address = address
    with pytest.raises(DatasetError, match=r"could not be fetched(.|\n)*pip install river"):
        load_dataset("yeast")


def test_the_real_numbers_of_the_sets():
    assert OPENML["yeast"] == OpenMLSet(40597, 2417, 103, 14)
