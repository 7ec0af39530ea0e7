"""Files that are cut, altered, foreign or half written; blocks that are verified when touched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from safetensors.numpy import save_file

from simlabel import SMLClassifier, load
from simlabel._utils.files import replacing
from simlabel.model.persistence import CLASSES, ModelFileError, read_file, write_file
from simlabel.similarities import RBF, Linear

X, Y = np.random.default_rng(7).random((30, 4)), [{"a"}, {"b"}, {"a", "c"}] * 10


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "model"
    SMLClassifier(RBF(1.0)).fit(X, Y).save(path)
    return path


def alter(path, positions):
    """Flip a bit at each position in turn, and expect that it is seen."""
    whole = path.read_bytes()
    for at in positions:
        altered = bytearray(whole)
        altered[at] ^= 1 << (at % 8)
        path.write_bytes(altered)
        with pytest.raises(ModelFileError):
            load(path)


def test_an_altered_byte_is_seen(saved):
    size = saved.stat().st_size
    alter(saved, [*range(16), *range(16, size - 16, 13), *range(size - 16, size)])


@pytest.mark.slow
def test_every_byte_is_under_a_checksum(saved):
    alter(saved, range(saved.stat().st_size))


def test_a_file_that_is_cut_or_longer(saved):
    whole = saved.read_bytes()
    for length in [*range(0, len(whole), 7), len(whole) - 1]:
        saved.write_bytes(whole[:length])
        with pytest.raises(ModelFileError, match=r"cut|not a model file|damaged"):
            load(saved)
    saved.write_bytes(whole + b"\0")
    with pytest.raises(ModelFileError, match="cut or damaged"):
        load(saved)


def test_foreign_files(tmp_path, saved):
    path = tmp_path / "foreign"
    save_file({"x": np.eye(3)}, path)
    with pytest.raises(ModelFileError, match="not a model file"):
        load(path)
    path.write_bytes(b"\x80\x04\x95" + bytes(100))
    with pytest.raises(ModelFileError, match="not a model file"):
        load(path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere")
    path.write_bytes(saved.read_bytes().replace(b'"version":"1"', b'"version":"9"'))
    with pytest.raises(ModelFileError, match="has format 9, and this simlabel reads format 1: update"):
        load(path)


def test_a_class_that_is_not_ours_is_not_made(saved, monkeypatch):
    """Even in a file whose checksums are right: the names of classes are a closed list."""
    state, arrays = read_file(saved)
    state["model"]["similarity"]["class"] = "os.system"
    entries = {name: arrays.whole(name) for name in arrays.entries}
    write_file(saved, state, entries)
    with pytest.raises(ModelFileError, match=r"names 'os.system'"):
        load(saved)


def test_indices_that_point_outside_are_refused(saved):
    """They would reach compiled loops that check nothing."""
    state, arrays = read_file(saved)
    entries = {name: arrays.whole(name).copy() for name in arrays.entries}
    entries["chunks/0/Y.indices"][0] = 1_000_000
    write_file(saved, state, entries)
    with pytest.raises(ValueError, match="indices"):
        load(saved)


def test_labels_of_a_mapped_model_can_be_merged(tmp_path):
    SMLClassifier(Linear(), normalizer=None).fit(X, Y).save(tmp_path / "model")
    models = [
        load(tmp_path / "model", mmap=mmap).merge_labels(["a", "b"], into="a") for mmap in (True, False)
    ]
    np.testing.assert_array_equal(models[0].label_weights(X), models[1].label_weights(X))


def test_mapped_blocks_are_verified_when_touched(tmp_path, change_limits):
    change_limits(checksum_bytes=256)
    path = tmp_path / "model"
    SMLClassifier(Linear(), normalizer=None).fit(X, Y).save(path)
    model = load(path, mmap=True)
    rows = model._model.scorer.references.X
    assert len(rows.unverified) == 4  # 30 x 4 x 8 bytes: none was touched
    np.testing.assert_array_equal(rows[8:9], X[8:9])
    assert sorted(rows.unverified) == [0, 2, 3]
    np.testing.assert_array_equal(rows[np.array([20, 1])], X[[20, 1]])
    assert sorted(rows.unverified) == [3]
    whole = path.read_bytes()
    at = whole.index(X[29].tobytes())
    path.unlink()
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    damaged = load(path, mmap=True)  # the header is whole
    np.testing.assert_array_equal(damaged._model.scorer.references.X[:8], X[:8])
    for _ in range(2):
        with pytest.raises(ModelFileError, match="damaged"):
            damaged.predict(X)
    with pytest.raises(ModelFileError, match="damaged"):
        load(path)
    path.write_bytes(whole[:20] + b"?" + whole[21:])
    with pytest.raises(ModelFileError):
        load(path, mmap=True)


def test_a_mapped_model_can_be_pickled(saved):
    import pickle

    model = load(saved, mmap=True)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.label_weights(X), model.label_weights(X))


def test_a_failed_save_leaves_the_old_file(saved, files_of_at_most):
    before = saved.read_bytes()
    model = SMLClassifier(RBF(2.0)).fit(X, Y)
    with files_of_at_most(1000), pytest.raises(OSError, match="File too large"):
        model.save(saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("where", ["replace", "fsync"])
def test_a_save_that_fails_at_its_end_leaves_the_old_file(saved, monkeypatch, where):
    before = saved.read_bytes()

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, where, fail)
    with pytest.raises(OSError, match="no space left"):
        SMLClassifier(RBF(2.0)).fit(X, Y).save(saved)
    monkeypatch.undo()
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


SAVING = """
    import os, sys, time
    import numpy as np
    from simlabel import SMLClassifier
    from simlabel.similarities import Linear
    models = [
        SMLClassifier(Linear(), normalizer=None).fit(np.full((n, 50), float(n)), [{"a"}] * n)
        for n in (20_000, 30_000)
    ]
    started = time.perf_counter()
    for model in models[::-1]:
        model.save(sys.argv[1])
    print(time.perf_counter() - started, flush=True)
    for _ in sys.stdin:  # for each line a process of its own that saves one model after the other
        child = os.fork()
        while child == 0:
            for model in models:
                model.save(sys.argv[1])
        print(child, flush=True)
        os.waitpid(child, 0)
"""


def kill_while_saving(path, times, seed):
    """Kill a process that saves one model after the other, at random moments."""
    rng = np.random.default_rng(seed)
    seen = []
    command = [sys.executable, "-c", textwrap.dedent(SAVING), str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        both = float(parent.stdout.readline())  # so that a slow machine is killed at any moment too
        for _ in range(times):
            parent.stdin.write(b"next\n")
            parent.stdin.flush()
            child = int(parent.stdout.readline())
            time.sleep(float(rng.uniform(0.0, 4.0 * both)))
            os.kill(child, signal.SIGKILL)
            model = load(path)
            n = model.n_references_
            assert n in (20_000, 30_000)
            assert model.label_weights(np.ones((1, 50)))[0, 0] == n * n * 50.0
            seen.append(n)
        parent.stdin.close()
    SMLClassifier(Linear()).fit(np.eye(2), [{"a"}, {"b"}]).save(path)
    assert [each.name for each in path.parent.iterdir()] == [path.name]  # what the dead left behind is gone
    return seen


def test_only_what_the_dead_left_behind_is_removed(saved):
    """A file that its writer still holds, and files of other names, stay."""
    model = SMLClassifier(RBF(2.0)).fit(X, Y)
    dead = saved.parent / f".{saved.name}.abcd_123.simlabel.tmp"
    others = [
        saved.parent / name
        for name in (".modeled.abcd_123.simlabel.tmp", ".model.notes.tmp", "model.abcd_123.simlabel.tmp")
    ]
    for path in (dead, *others):
        path.write_bytes(b"half a model")
    with replacing(saved) as file:
        file.write(saved.read_bytes())
        assert not dead.exists()
        (alive,) = (p for p in saved.parent.glob(".model.*.simlabel.tmp") if p not in others)
        model.save(saved)
        assert alive.exists()
    assert {path.name for path in saved.parent.iterdir()} == {saved.name, *(path.name for path in others)}


def test_killed_at_any_moment_a_whole_model_is_there(tmp_path):
    assert len(kill_while_saving(tmp_path / "model", 10, seed=1)) == 10


@pytest.mark.slow
def test_killed_many_times(tmp_path):
    assert set(kill_while_saving(tmp_path / "model", 200, seed=2)) == {20_000, 30_000}


def test_every_saved_class_declares_its_own_name():
    assert all("file_key" in vars(cls) and cls.file_key == key for key, cls in CLASSES.items())
