"""Everything here is tested with rows decoded one after the other, and column by column."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from airflow_ddlrepl.engines.postgres.pgoutput import few_rows


@pytest.fixture(scope="module", autouse=True, params=[few_rows.MOST_ROWS, 0], ids=["few rows", "many rows"])
def most_rows(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(few_rows, "MOST_ROWS", request.param)
        yield
