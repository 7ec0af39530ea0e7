from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "simlabel", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.register_profile("long", parent=settings.get_profile("simlabel"), max_examples=2000)
settings.load_profile("simlabel")


@pytest.fixture(scope="session")
def changed_limits():
    """Other sizes of blocks in a context: ``with changed_limits(tail_rows=8):``."""
    from simlabel._utils.limits import changed_limits

    return changed_limits


@pytest.fixture
def change_limits(changed_limits):
    """Other sizes of blocks for this test: ``change_limits(tail_rows=8)``."""
    with contextlib.ExitStack() as stack:
        yield lambda **changes: stack.enter_context(changed_limits(**changes))


@pytest.fixture
def limits(changed_limits):
    """The sizes of blocks that apply."""
    with changed_limits() as limits:
        yield limits


@pytest.fixture
def small_blocks(change_limits):
    """Blocks of a few rows on several threads, so that small data show the seams."""

    def use(queries=3, references=4, fewest=2):
        change_limits(
            block_query_bytes=8 * queries,
            block_references=references,
            panel_references=references,
            tile_rows=3,
            min_block_queries=fewest,
            serial_operations=0,
            min_side=1,
            block_bytes=2000,
        )

    return use


@pytest.fixture
def files_of_at_most():
    """Limit the size of files in a context, so that writing a larger one fails as on a full disk."""
    resource = pytest.importorskip("resource", reason="the size of files is limited on POSIX systems alone")

    @contextlib.contextmanager
    def limited(n_bytes):
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return limited


@pytest.fixture
def rng():
    return np.random.default_rng(20240229)


@pytest.fixture
def made():
    from made_data import make_data

    return make_data()
