"""Which tables' shapes at a position the log leaves open, by the statements before it and what came after."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_ddlrepl.capture.enroll import enroll
from airflow_ddlrepl.capture.unknown_shapes import unknown_shapes
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import DataType, TypeDefinition, TypeKind

END = Position(100)
INT = DataType("integer", "pg_catalog", "int4", id=23)


def shape(*columns: int) -> Table:
    return Table(1, TableName("public", "t"), tuple(Column(i, f"c{i}", INT) for i in columns))


def ddl(lsn: int, xid: int, snapshot: str, *tables: Table, tag: str = "ALTER TABLE") -> Event:
    return Event(EventKind.DDL, LogKey(lsn, 0), xid, 0, tag=tag, settings={"snapshot": snapshot}, tables=tables)


FIRST = ddl(10, 100, "100:100:", shape(1))
MORE = ddl(20, 102, "102:103:", shape(1, 2))
BLIND = ddl(30, 101, "101:102:", shape(1, 3))  # its transaction does not see MORE
WHOLE = ddl(40, 103, "103:104:", shape(1, 3))
OF_A_TYPE = ddl(30, 101, "101:102:", shape(1), tag="ALTER TYPE")
OF_NO_TABLE = ddl(30, 101, "103:104:", tag="ALTER TYPE")
GAP = Event(EventKind.GAP, LogKey(30, 0), 101, 0, statement="lock timeout")
FOUND = replace(ddl(90, 0, "110:110:", shape(1, 5)), is_inspected=True)


def told(at: int, *events: Event) -> str:
    revisions: list[Revision] = enroll(events, {}, lambda *_: True, lambda _: [])
    return unknown_shapes(events, {1: revisions}, Position(at), END).get(1, "")


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ([FIRST, GAP, FOUND], "0/1E is not in the log (lock timeout)"),
        ([FIRST, GAP, WHOLE], "0/1E is not in the log (lock timeout)"),
        ([FIRST, MORE, BLIND, WHOLE], "0/1E does not show everything"),
        ([FIRST, MORE, BLIND, FOUND], "0/1E does not show everything"),
        ([FIRST, OF_NO_TABLE, FOUND], "nothing in the log shows when it changed"),
    ],
)
def test_a_shape_is_open_until_something_tells_it_whole(events: list[Event], reason: str) -> None:
    later = events[-1].key.lsn
    assert reason in told(35, *events)
    assert told(35, *events).endswith(f"at {Position(later)}")
    assert told(later + 1, *events) == told(10, *events) == ""


@pytest.mark.parametrize(
    "events",
    [
        [FIRST, MORE, BLIND],  # nothing that came after it shows another shape
        [FIRST, GAP],
        [FIRST, MORE, OF_A_TYPE, WHOLE],  # takes no lock on the table: its part is put together with the others
        [FIRST, MORE, WHOLE],
    ],
)
def test_a_shape_that_nothing_puts_in_doubt(events: list[Event]) -> None:
    assert told(35, *events) == ""


def test_a_change_that_is_told_after_the_inspection_says_nothing_of_the_time_before_it() -> None:
    assert told(35, FIRST, GAP, replace(WHOLE, key=LogKey(120, 0))) == ""


def test_a_statement_that_saw_everything_tells_the_table_whole() -> None:
    assert told(45, FIRST, MORE, BLIND, replace(WHOLE, tables=(shape(1, 4),)), FOUND).startswith("nothing in the log")


def test_without_statements_in_the_log_nothing_tells_when_a_found_change_was_made() -> None:
    known = replace(FIRST, is_inspected=True)
    assert told(35, known, FOUND).startswith("nothing in the log shows when it changed")
    assert told(35, known, FOUND).endswith(f"at {Position(90)}")
    assert told(91, known, FOUND) == ""


def test_rows_that_showed_columns_do_not_show_what_their_types_were() -> None:
    """The catalog was looked at later: a type of users' may have had another name until then."""
    moved = shape(1, 2).with_(types=(TypeDefinition(20001, "s", "mood", TypeKind.ENUM, labels=("a",)),))
    by_rows = replace(FOUND, key=LogKey(30, 2), transaction_id=101, tables=(moved,))
    assert told(25, FIRST, by_rows).startswith("nothing in the log shows when it changed")
    assert told(35, FIRST, by_rows).endswith(f"not their types; these are known at {END}")
    assert told(45, FIRST, by_rows, WHOLE) == ""
    assert told(35, FIRST, replace(by_rows, tables=(shape(1, 2),))) == ""
    assert told(35, FIRST, replace(by_rows, key=LogKey(30, START_OF_TRANSACTION))) == ""  # a statement has shown it
    assert told(35, FIRST, replace(by_rows, transaction_id=0)) == ""  # of an inspection there
