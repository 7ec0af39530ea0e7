"""One server for one folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from simlabel.desk._problems import StoreError

if sys.platform != "win32":
    import fcntl


class FolderLock:
    """Held as long as the process lives, however it ends."""

    def __init__(self, path: Path) -> None:
        self._handle: int | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return  # where nothing can be written, two servers do no harm
        try:
            if sys.platform != "win32":
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(self._handle, 20).decode("ascii", "replace").strip() or "?"
            os.close(self._handle)
            raise StoreError(
                f"{path.parent} is open in another server (process {holder}). End that one first, or use it."
            ) from None
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        """Let others have the folder."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
