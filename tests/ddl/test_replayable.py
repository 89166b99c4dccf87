"""What a text of the source is at a target: DROP INDEX may find nothing there, and can't run CONCURRENTLY."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.ddl.sql.replayable import as_run

NESTED = "/* a /* nested */ one */"


@pytest.mark.parametrize(
    ("statement", "run"),
    [
        (" DROP INDEX i ;\n", "DROP INDEX IF EXISTS i"),
        ("drop index concurrently if exists s.i", "drop index IF EXISTS s.i"),
        ("DROP INDEX IF EXISTS i", "DROP INDEX IF EXISTS i"),
        (f"{NESTED} DROP --\n INDEX /* of */ CONCURRENTLY i", f"{NESTED} DROP --\n INDEX IF EXISTS i"),
        ('DROP INDEX "concurrently"', 'DROP INDEX IF EXISTS "concurrently"'),
        ("DROP INDEX if", "DROP INDEX IF EXISTS if"),
        ("DROP TABLE index", "DROP TABLE index"),
        ("COMMENT ON INDEX i IS 'DROP INDEX CONCURRENTLY i'", "COMMENT ON INDEX i IS 'DROP INDEX CONCURRENTLY i'"),
    ],
)
def test_drop_index_as_a_target_runs_it(statement: str, run: str) -> None:
    assert as_run(statement) == run
