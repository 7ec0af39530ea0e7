"""Links, permissions and special files when a file is replaced."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from simlabel._utils.files import replacing

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links, owners and devices of POSIX")


def replace(path):
    with replacing(path) as file:
        file.write(b"new")


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_leads_to_the_new_file(tmp_path, there):
    target = tmp_path / "elsewhere" / "target"
    target.parent.mkdir()
    if there:
        target.write_text("old")
    link = tmp_path / "link"
    link.symlink_to("elsewhere/target")
    replace(link)
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert list(target.parent.iterdir()) == [target]


def test_permissions_and_owner_stay(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    if os.getuid() == 0:
        os.chown(path, 65534, 65533)
    path.chmod(0o640)
    before = path.stat()
    replace(path)
    after = path.stat()
    assert path.read_text() == "new"
    assert after.st_ino != before.st_ino
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


def test_standard_output_as_a_file_is_written_on(tmp_path):
    """By its name too: what was written to it before stays, and what comes after has its place."""
    path = tmp_path / "out"
    code = (
        "import os; from pathlib import Path; from simlabel._utils.files import replacing\n"
        "os.write(1, b'before ')\n"
        "with replacing(Path('/dev/stdout')) as file: file.write(b'new')\n"
    )
    with path.open("ab") as stream:
        subprocess.run([sys.executable, "-c", code], stdout=stream, check=True, timeout=120)
        stream.write(b" after")
    assert path.read_text() == "before new after"


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError):
        replace(tmp_path)


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="needs a folder of files in memory")
def test_files_in_memory_are_replaced_and_not_written_on():
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder) / "file"
        path.write_text("old")
        replace(path)
        assert path.read_text() == "new"
