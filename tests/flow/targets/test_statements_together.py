"""Statements of several tables are sent together: what fails among them is found, told by name, and stops nobody."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.engines.postgres.merge.merge import PipelineFailed, pipeline
from airflow_ddlrepl.engines.postgres.target import apply as applying
from tests.support.replica import Make, Replica
from tests.support.suspending import START, cycle_fails, states

ALTERS = ("ALTER TABLE bad ADD COLUMN n int", "ALTER TABLE good ADD COLUMN n int")
LATER = ("INSERT INTO good VALUES (9, 9, 9)",)


@pytest.fixture
def replica(make: Make) -> Replica:
    return make(*START)


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what became of each pipeline, as they come."""
    found: list[str] = []

    class Watched:
        def __init__(self, *given: object) -> None:
            self.inner = pipeline(*given)  # type: ignore[arg-type]

        def __enter__(self) -> None:
            self.inner.__enter__()

        def __exit__(self, *error: object) -> bool | None:
            try:
                left = self.inner.__exit__(*error)  # type: ignore[arg-type]
            except PipelineFailed:
                found.append("failed")
                raise
            found.append("done")
            return left

    monkeypatch.setattr(applying, "pipeline", Watched)
    return found


def test_rows_and_changes_of_tables_are_sent_together(replica: Replica, attempts: list[str]) -> None:
    replica.at_source(
        "INSERT INTO bad VALUES (7, 7)",
        ALTERS[0],
        "UPDATE good SET v = v + 1",
        ALTERS[1],
        "DELETE FROM good WHERE id = 1",
        *LATER,
    )
    replica.settle()
    assert attempts == ["done"]
    assert replica.rows("SELECT * FROM bad WHERE id = 7") == [(7, 7, None)]


def test_rows_alone_of_many_tables_are_sent_together(
    replica: Replica, attempts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the target refuses some, that table stops alone."""
    replica.at_source("INSERT INTO bad VALUES (7, 7)", "INSERT INTO good VALUES (9, 9)")
    replica.settle()
    assert attempts == [], "two tables are few"
    monkeypatch.setattr(applying, "MANY", 2)
    replica.at_source("INSERT INTO bad VALUES (8, 8)", "UPDATE good SET v = v + 1", "DELETE FROM good WHERE id = 9")
    replica.settle()
    assert attempts == ["done"]
    replica.at_target("DELETE FROM bad WHERE id = 1")
    replica.at_source("UPDATE bad SET v = 9 WHERE id = 1", "INSERT INTO good VALUES (9, 9)")
    error = cycle_fails(replica)
    assert attempts[1] == "failed" and "INT-101" in str(error)
    assert states(replica) == {"bad": "suspended", "good": "live"}
    assert replica.rows("SELECT * FROM good WHERE id = 9") == [(9, 9)]


@pytest.mark.parametrize("change", ["UPDATE bad SET v = 9 WHERE id = 1", "DELETE FROM bad WHERE id = 1"])
def test_a_row_that_is_missing_at_the_target_is_not_passed_over(
    replica: Replica, attempts: list[str], change: str
) -> None:
    """No statement fails: only the number of rows says it."""
    replica.at_target("DELETE FROM bad WHERE id = 1")
    replica.at_source(change, *ALTERS, *LATER)
    error = cycle_fails(replica)
    assert (attempts[0], error.code) == ("failed", "INT-123")
    assert "INT-101" in str(error)
    assert states(replica) == {"bad": "suspended", "good": "live"}
    assert replica.rows("SELECT * FROM good WHERE id = 9") == [(9, 9, 9)]


@pytest.mark.parametrize(
    ("harm", "code"),
    [
        ("ALTER TABLE bad ADD CONSTRAINT small CHECK (v < 100)", "INT-105"),
        ("INSERT INTO bad VALUES (8, 800)", "INT-102"),
        ("ALTER TABLE bad ADD COLUMN n text", "ADP-130"),
    ],
)
def test_a_statement_that_is_refused_stops_its_table_alone(
    replica: Replica, attempts: list[str], harm: str, code: str
) -> None:
    replica.at_target(harm)
    replica.at_source("INSERT INTO bad VALUES (8, 800)", *ALTERS, *LATER)
    error = cycle_fails(replica)
    assert attempts[0] == "failed"
    assert code in str(error)
    assert states(replica) == {"bad": "suspended", "good": "live"}
    assert replica.rows("SELECT * FROM good WHERE id = 9") == [(9, 9, 9)]


def test_values_that_go_from_row_to_row_are_written_all_the_same(replica: Replica) -> None:
    """Two unique values change places: that may take more than one statement."""
    replica.at_source("ALTER TABLE good ADD CONSTRAINT own UNIQUE (v)", "INSERT INTO good VALUES (5, 50), (6, 60)")
    replica.settle()
    replica.at_source(
        ALTERS[0],
        "UPDATE good SET v = -1 WHERE id = 5; UPDATE good SET v = 50 WHERE id = 6; UPDATE good SET v = 60 WHERE id = 5",
        ALTERS[1],
    )
    replica.settle()
    assert replica.rows("SELECT id, v FROM good WHERE id > 4 ORDER BY 1") == [(5, 60), (6, 50)]
