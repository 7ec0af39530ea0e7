"""Compiled loops in a process that may not write, on a full disk, with damaged files and edited sources."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from simlabel._utils import kernels as _kernels

_ROOM = Path(_kernels.__file__).parent
_NOBODY = 65534
_FIRST_LINES = """
    import os
    import warnings

    warnings.simplefilter("error")
"""
# The compiling alone, without the rest of the library, which takes longer to import.
_ALONE = f"""
    import sys
    import types

    for name, folder in (("simlabel", {str(_ROOM.parent)!r}), ("simlabel._utils.kernels", {str(_ROOM)!r})):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [folder]
"""
_COUNT = """
    from numba.core.event import install_recorder

    with install_recorder("numba:compile") as events:
        print(work())
    print(sum(event.is_start for _, event in events.buffer))
"""


def run(code, *, cwd, **environment):
    """What a fresh process prints and says, with these variables; None takes one away."""
    cleared = {"NUMBA_CACHE_DIR": None, "NUMBA_CACHE_LOCATOR_CLASSES": None} | environment
    variables = {name: value for name, value in (os.environ | cleared).items() if value is not None}
    whole = textwrap.dedent(_FIRST_LINES) + textwrap.dedent(code)
    found = subprocess.run(
        [sys.executable, "-c", whole], capture_output=True, text=True, cwd=cwd, env=variables, timeout=240
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.split(), found.stderr


@pytest.fixture
def package(tmp_path):
    """Two kernels in two files, the one calling the other."""
    folder = tmp_path / "rooms" / "loops"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "inner.py").write_text(
        "from simlabel._utils.kernels._compile import kernel\n\n\n@kernel\ndef step(x):\n    return x + 1.0\n"
    )
    (folder / "outer.py").write_text(
        "from loops.inner import step\nfrom simlabel._utils.kernels._compile import kernel\n\n\n"
        "@kernel\ndef twice(x):\n    return step(step(x))\n"
    )
    return folder


def twice(package, before="", **environment):
    """The value of the outer kernel in a fresh process, how many were compiled, and what was said."""
    work = "\n    from loops.outer import twice\n\n    def work():\n        return twice(0.0)\n"
    (value, compiled), said = run(_ALONE + before + work + _COUNT, cwd=package.parent, **environment)
    return float(value), int(compiled), said


def kept(package):
    return sorted(package.glob("__pycache__/*.nb?"))


def test_what_is_compiled_is_kept(package):
    assert twice(package) == (2.0, 2, "")
    assert twice(package) == (2.0, 0, "")


def test_an_edit_in_a_kernel_that_another_one_calls_is_seen(package):
    assert twice(package)[0] == 2.0
    inner = package / "inner.py"
    inner.write_text(inner.read_text().replace("1.0", "4.0"))  # as long as before
    assert twice(package) == (8.0, 2, "")
    assert twice(package) == (8.0, 0, "")


def flipped(whole):
    return whole[: len(whole) // 2] + bytes([whole[len(whole) // 2] ^ 1]) + whole[len(whole) // 2 + 1 :]


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
def test_damaged_files_are_made_anew(package, ending):
    twice(package)
    for damage in (lambda whole: b"", lambda whole: whole[: len(whole) // 2], flipped):
        for path in kept(package):
            if path.suffix == ending:
                path.write_bytes(damage(path.read_bytes()))
        assert twice(package) == (2.0, 2, "")
    assert twice(package) == (2.0, 0, "")


def test_an_index_that_cannot_be_opened(package):
    twice(package)
    for path in kept(package):
        path.unlink()
        if path.suffix == ".nbi":
            path.mkdir()
    value, compiled, said = twice(package)
    assert (value, compiled) == (2.0, 2)
    assert said.count("NUMBA_CACHE_DIR") == 1


def test_a_full_disk(package):
    before = """
    import contextlib
    import errno

    from numba.core.caching import IndexDataCacheFile

    def full(self, path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    IndexDataCacheFile._open_for_write = contextlib.contextmanager(full)
    """
    value, compiled, said = twice(package, before)
    assert (value, compiled) == (2.0, 2)
    assert said.count("No space left on device") == said.count("NUMBA_CACHE_DIR") == 1
    assert not kept(package)


def test_without_a_place_for_files(package, tmp_path):
    """Regular files where the folders would be: that holds for root too."""
    (package / "__pycache__").write_text("")
    (tmp_path / "home").write_text("")
    nowhere = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": None, "PYTHONDONTWRITEBYTECODE": "1"}
    value, compiled, said = twice(package, **nowhere)
    assert (value, compiled) == (2.0, 2)
    assert said.count("NUMBA_CACHE_DIR") == 1
    assert twice(package, **nowhere, NUMBA_CACHE_DIR=str(tmp_path / "here")) == (2.0, 2, "")
    assert twice(package, **nowhere, NUMBA_CACHE_DIR=str(tmp_path / "here")) == (2.0, 0, "")


def test_in_the_users_folder_where_the_package_is_not_writable(package, tmp_path):
    (package / "__pycache__").write_text("")
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "mine"), "LOCALAPPDATA": str(tmp_path)}
    assert twice(package, **home) == (2.0, 2, "")
    assert twice(package, **home) == (2.0, 0, "")


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs users")
def test_as_a_user_who_may_write_nowhere(package):
    package.chmod(0o555)
    become = f"""
    import loops.outer
    import numba

    numba.njit(lambda x: x + 1.0)(0.0)  # what numba imports late, it may not be able to read later
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid({_NOBODY})
        os.setuid({_NOBODY})
    """
    try:
        value, compiled, said = twice(package, become, HOME="/nonexistent", XDG_CACHE_HOME="/nonexistent")
    finally:
        package.chmod(0o755)
    assert (value, compiled) == (2.0, 2)
    assert said.count("NUMBA_CACHE_DIR") == 1


@pytest.mark.parametrize("words", [[], ["--help"], ["predict", "--help"]])
def test_nothing_is_compiled_or_looked_for_by_an_import_or_by_help(tmp_path, words):
    code = f"""
    import sys

    def work():
        import simlabel
        if {words!r}:
            from simlabel.cli import main
            sys.argv[1:], sys.stdout = {words!r}, sys.stderr
            try:
                main()
            except SystemExit as left:
                assert not left.code
            sys.stdout = sys.__stdout__
        return "done"
    """
    warm = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert run(code + _COUNT, cwd=tmp_path, **warm)[0] == ["done", "0"]
    assert not (tmp_path / "cache").exists()
