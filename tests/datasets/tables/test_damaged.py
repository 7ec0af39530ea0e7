"""A damaged file gives the same table, read whole or in chunks, or one clear error."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from damaged_files import TABLES, check_table, damaged


@pytest.mark.parametrize("kind", TABLES)
def test_damaged_tables(kind, tmp_path):
    @given(st.data())
    @settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck), database=None)
    def run(draws):
        hurt = damaged(TABLES[kind], lambda low, high: draws.draw(st.integers(low, high)))
        check_table(tmp_path / "fuzzed", hurt, draws.draw(st.integers(1, 4)))

    run()
