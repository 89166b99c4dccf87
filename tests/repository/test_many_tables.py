"""What a cycle stores of thousands of tables goes into the repository by few statements, with the same outcome."""

from __future__ import annotations

import pytest
from sqlalchemy import event

from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.record import StepApplied
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.repository import revisions as stored_revisions
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.stored.rows import EnrolledState, SegmentFacts, StepState
from tests.repository.test_repository import ddl, location, repository, revision, shape, token

__all__ = ["location", "repository", "token"]

IDS = range(101, 121)


def made(number: int, lsn: int) -> list[Revision]:
    return [revision(number, lsn, shape(i, f"t{i}", number), i) for i in IDS]


def commit(repository: Repository, token: int, found: list[Revision], low: int) -> bool:
    window = (Position(low), Position(low + 0x100))
    seen = [ddl(low + i) for i in IDS]
    return repository.commit_segment("shop", token, SegmentFacts(1, *window), found, window[1], seen=seen)


def test_revisions_of_a_window_are_stored_together_and_read_together(repository: Repository, token: int) -> None:
    counted: list[str] = []
    event.listen(repository._database._engine, "before_cursor_execute", lambda *given: counted.append(given[2]))
    repository.enroll("shop", token, made(1, 0x10))
    assert commit(repository, token, made(2, 0x110), 0x100)
    assert len(counted) < len(IDS)
    assert repository.revisions_of("shop", [103, 105, 99]) == {
        103: repository.revisions("shop", 103),
        105: repository.revisions("shop", 105),
        99: [],
    }
    assert [one.number for one in repository.revisions_of("shop", IDS)[120]] == [1, 2]
    assert len(repository.events("shop", Position(0x101))) == len(IDS)


def test_more_tables_than_a_query_may_name_are_read_in_parts(
    repository: Repository, token: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_revisions, "MOST_TOGETHER", 3)
    repository.enroll("shop", token, made(1, 0x10))
    found = repository.revisions_of("shop", IDS)
    assert {i: [one.table for one in revisions] for i, revisions in found.items()} == {
        i: [shape(i, f"t{i}", 1)] for i in IDS
    }


def test_a_table_is_in_the_state_that_its_last_revision_says(repository: Repository, token: int) -> None:
    again = [revision(2, 0x110, None, 101), revision(3, 0x120, shape(101, "again"), 101)]
    gone = [revision(2, 0x110, shape(102, "renamed"), 102), revision(3, 0x120, None, 102)]
    came_and_went = [revision(0, 0x110, shape(130, "short"), 130), revision(1, 0x120, None, 130)]
    repository.enroll("shop", token, made(1, 0x10))
    assert commit(repository, token, [*again, *gone, *came_and_went], 0x100)
    rows = {row.table_id: (row.name.name, row.state) for row in repository.tables("shop")}
    assert rows[101] == ("again", EnrolledState.LIVE)
    assert rows[102] == ("renamed", EnrolledState.DROPPED)
    assert rows[130] == ("short", EnrolledState.DROPPED)
    assert rows[103] == ("t103", EnrolledState.LIVE)


def test_steps_are_recorded_together_only_where_none_is_there(repository: Repository, token: int) -> None:
    steps = [StepApplied(i, 2, number, "h", "ALTER") for i in IDS for number in (0, 1)]
    assert repository.record_new_steps("shop", token, "w", steps)
    rows = repository.ledger("shop", "w")
    assert [(row.table_id, row.revision, row.step, row.state) for row in rows] == [
        (i, 2, number, StepState.DONE) for i in IDS for number in (0, 1)
    ]
    later = StepApplied(101, 3, 0, "h", "ALTER")
    assert not repository.record_new_steps("shop", token, "w", [later, steps[4]])
    assert not repository.record_new_steps("shop", token, "w", [later, later])
    assert len(repository.ledger("shop", "w")) == len(steps)
    assert repository.record_new_steps("shop", token, "w", [later])
    assert repository.record_new_steps("shop", token, "other", steps)
