"""A real cluster of processes, kept for all tests that do no harm to it."""

from __future__ import annotations

import pytest
from clusters import started


@pytest.fixture(scope="session")
def client():
    client, cluster = started()
    yield client
    client.close()
    cluster.close()
