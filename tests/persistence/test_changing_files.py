"""Files that change while a model is loaded, or after; and what is no file at all."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from simlabel import SMLClassifier, load
from simlabel.model.persistence import ModelFileError
from simlabel.ridge import Ridge
from simlabel.similarities import RBF

X, Y = np.random.default_rng(7).random((30, 4)), [{"a"}, {"b"}, {"a", "c"}] * 10
MODELS = {
    "dense": SMLClassifier(RBF(1.0), normalizer="zscore"),
    "ridge": SMLClassifier(RBF(1.0), influence=Ridge(0.1, inducing=7)),
}


def change(path, how):
    """Write to the file that is there, in place."""
    with path.open("r+b") as file:
        if how == "cut":
            file.truncate(100)
        else:
            file.seek(0)
            file.write(bytes(path.stat().st_size))
    os.utime(path, ns=(1, 1))  # a clock may stand still between two writes


@pytest.mark.parametrize("how", ["cut", "overwritten"])
@pytest.mark.parametrize("kind", MODELS)
def test_a_model_in_memory_has_left_its_file(kind, how, tmp_path):
    path = tmp_path / "model"
    MODELS[kind].fit(X, Y).save(path)
    expected = load(path).label_weights(X)
    model = load(path)
    change(path, how)
    np.testing.assert_array_equal(model.label_weights(X), expected)
    np.testing.assert_array_equal(model.partial_fit(X[:1], Y[:1]).forget([30]).predict(X), model.predict(X))


MAPPED = """
    import sys
    from simlabel import load
    from simlabel.model.persistence import ModelFileError
    Q = [[0.1, 0.2, 0.3, 0.4]]
    models = {path: load(path, mmap=True) for path in sys.argv[1:]}
    for path, model in models.items():
        if "-touched" in path:
            model.predict(Q)
    print("loaded", flush=True)
    sys.stdin.readline()
    for model in models.values():
        try:
            model.predict(Q)
            print("not seen")
        except ModelFileError as error:
            print(error)
"""


def test_a_mapped_file_that_was_written_to_is_seen(tmp_path):
    """In a process of its own: to touch what was cut off would end it."""
    changed = {
        tmp_path / f"{how}-{when}": how for how in ("cut", "overwritten") for when in ("touched", "untouched")
    }
    model = SMLClassifier(RBF(1.0)).fit(X, Y)
    for path in changed:
        model.save(path)
    command = [sys.executable, "-c", textwrap.dedent(MAPPED), *map(str, changed)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "loaded\n"
        for path, how in changed.items():
            change(path, how)
        messages, _ = child.communicate("go\n")
    assert child.returncode == 0
    for path, message in zip(changed, messages.splitlines(), strict=True):
        assert f"{path}" in message
        assert "was written to after it was loaded with mmap=True" in message
        assert "Load it again" in message


def test_a_mapped_file_may_be_replaced(tmp_path):
    path = tmp_path / "model"
    model = SMLClassifier(RBF(1.0)).fit(X, Y)
    model.save(path)
    mapped = load(path, mmap=True)
    SMLClassifier(RBF(9.0)).fit(X[:5], Y[:5]).save(path)
    np.testing.assert_array_equal(mapped.label_weights(X), model.label_weights(X))


@pytest.mark.parametrize("mmap", [False, True])
def test_a_model_is_whole_beside_one_that_saves(mmap, tmp_path):
    path = tmp_path / "model"
    models = [SMLClassifier(RBF(1.0)).fit(X[:n], Y[:n]) for n in (10, 30)]
    models[0].save(path)
    ended = threading.Event()

    def keep_saving():
        while not ended.is_set():
            for model in models:
                model.save(path)

    writer = threading.Thread(target=keep_saving)
    writer.start()
    try:
        found = {load(path, mmap=mmap).n_references_ for _ in range(150)}
    finally:
        ended.set()
        writer.join()
    assert found <= {10, 30}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, os.devnull):
        with pytest.raises(ModelFileError, match="no regular file"):
            load(path)
