from __future__ import annotations

from contextlib import closing

import pytest

pytest.importorskip("fastapi", reason="simlabel[serve] is not installed")

from desk_support import Server, made_items

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
def desk(tmp_path):
    """Open a folder in this process, without starting its threads."""
    with closing(TaggingServer(tmp_path / "desk")) as desk:
        yield desk
