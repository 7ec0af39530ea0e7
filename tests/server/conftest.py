from __future__ import annotations

import os
from contextlib import closing

import pytest

pytest.importorskip("fastapi", reason="simlabel[serve] is not installed")

from desk_support import LocalServer, Server, made_items

from simlabel.server import TaggingServer


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """Start a server with 60 done and 25 waiting films and an up-to-date model."""
    with Server(tmp_path_factory.mktemp("taught") / "desk") as server:
        server.post("/api/items", {"items": made_items(60, seed=1)})
        server.post("/api/items", {"items": made_items(25, seed=2, done=False)})
        server.wait_for_model()
        yield server


@pytest.fixture
def empty(tmp_path):
    """Start a server with an empty store."""
    with Server(tmp_path / "desk") as server:
        yield server


@pytest.fixture
def local(tmp_path):
    """Open an empty store in this process, and answer requests without a socket."""
    with closing(LocalServer(tmp_path / "desk")) as server:
        yield server


@pytest.fixture
def nobody(tmp_path):
    """Drop root privileges during a test, so that file permissions apply."""
    if not hasattr(os, "geteuid"):
        pytest.skip("permissions are others on this system")
    if os.geteuid() == 0:
        for path in (tmp_path, *tmp_path.parents):
            if not path.stat().st_mode & 0o001:
                path.chmod(0o755)  # the folders that pytest has created
        os.seteuid(65534)
        yield
        os.seteuid(0)
    else:
        yield
    (tmp_path / "desk").chmod(0o755)


@pytest.fixture
def desk(tmp_path):
    """Open a folder in this process, without starting its threads."""
    with closing(TaggingServer(tmp_path / "desk")) as desk:
        yield desk
