"""A snapshot says a position only where the table has the log up to there, and nothing from behind it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_ddlrepl.adapt.program.program import Program
from airflow_ddlrepl.engines.lake.catalog.metadata import Head
from airflow_ddlrepl.engines.lake.target.apply import summaries
from airflow_ddlrepl.engines.lake.target.own_snapshots import OwnSnapshots, shape_digest
from airflow_ddlrepl.errors import ConfigError, TargetError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.settings.table_settings import Rows, TableSettings
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import PartialRefresh, TableState, TableStatus
from airflow_ddlrepl.model.visibility import SnapshotAt
from airflow_ddlrepl.notation.refresh_options import parse_snapshot

NAME = TableName("public", "t")
STATE = TableState(1, NAME, Table(1, NAME, ()))


def told(state: TableState) -> dict[TableName, dict[str, str]]:
    return summaries([Program(Position(50), Position(100), (), (), {1: state})], {state.name}, 1)


def test_nothing_is_asked_of_tables_that_the_window_leaves_alone() -> None:
    program = Program(Position(50), Position(100), (), (), {1: STATE})
    assert summaries([program], (), 1) == {}


@pytest.mark.parametrize("until", [99, 100])
def test_a_load_that_is_passed(until: int) -> None:
    known = (STATE, replace(STATE, snapshot=SnapshotAt(Position(until))))
    partial = replace(STATE, partial=PartialRefresh("id > 1", Position(until)))
    for state in (*known, partial, replace(STATE, partial=PartialRefresh("id > 1"))):
        found = told(state)[NAME]
        assert found == {"ddlrepl.position": "100", "ddlrepl.shape": shape_digest(state, 1)}


def test_a_load_that_is_further() -> None:
    partial = replace(STATE, partial=PartialRefresh("id > 1", Position(101)))
    for state in (
        replace(STATE, snapshot=SnapshotAt(Position(101))),
        partial,
        replace(STATE, state=TableStatus.PENDING),
    ):
        assert told(state) == {}


def test_what_makes_a_table_another_one() -> None:
    others = (
        replace(STATE, name=TableName("public", "u")),
        replace(STATE, settings=TableSettings(rows=Rows(condition="id > 1"))),
        replace(STATE, shape=replace(STATE.shape, storage=7)),
    )
    digests = {shape_digest(one, 1) for one in (STATE, *others)} | {shape_digest(STATE, 2)}
    assert len(digests) == 5
    assert shape_digest(replace(STATE, state=TableStatus.SUSPENDED), 1) == shape_digest(STATE, 1)


def own(*line: dict[str, str]) -> OwnSnapshots:
    """Snapshots from 1 on, each after the one before, by what they say; one without a word has expired."""
    snapshots = [
        {"snapshot-id": number, "parent-snapshot-id": number - 1, "schema-id": 0, "summary": summary}
        for number, summary in enumerate(line, 1)
        if summary
    ]
    schemas = [{"schema-id": 0, "fields": []}]
    metadata = {"table-uuid": "u", "current-snapshot-id": 9, "snapshots": snapshots, "schemas": schemas}
    return OwnSnapshots(STATE, {**metadata, "current-schema-id": 0}, Head("u", len(line), 9), "w_us_", 1)


SAYS = {"ddlrepl.position": "100", "ddlrepl.shape": shape_digest(STATE, 1), "ddlrepl.window": "w_us_a7_x"}
LATER = {**SAYS, "ddlrepl.position": "200"}
FILES = {"operation": "replace", "ddlrepl.window": "w_us_m7_x"}
THEIRS = {"operation": "append", "added-records": "3"}


@pytest.mark.parametrize(
    "between", [[], [FILES], [THEIRS], [{"ddlrepl.window": "w_us_a8_x"}], [{"ddlrepl.window": "w_us_c8_x"}, LATER]]
)
def test_a_snapshot_to_which_a_table_goes_back(between: list[dict[str, str]]) -> None:
    found = own(SAYS, *between, LATER).chosen(1)
    assert (found.snapshot, found.position) == (1, Position(100))
    assert found.undone == (("snapshot 2 (append, 3 rows added in files)",) if between == [THEIRS] else ())


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("its columns have changed, or its key", [{**SAYS, "ddlrepl.shape": shape_digest(STATE, 2)}, LATER]),
        ("does not say ddlrepl.position", [THEIRS, LATER]),
        ("does not say ddlrepl.position", [{"ddlrepl.window": "w_us_a8_x"}, LATER]),
        ("loaded, or repaired", [SAYS, {"ddlrepl.loaded": "150"}, LATER]),
        ("loaded, or repaired", [SAYS, {"ddlrepl.window": "w_us_l8_x"}, LATER]),
        ("loaded, or repaired", [SAYS, {"ddlrepl.window": "w_us_p8_x"}, LATER]),
        ("does not lead to 3", [SAYS, {}, LATER]),
        ("has expired", [{}, SAYS, LATER]),
        ("with which the channel has left the table, has expired", [SAYS, {}]),
    ],
)
def test_a_snapshot_that_is_not_certain_to_be_right(said: str, line: list[dict[str, str]]) -> None:
    with pytest.raises(TargetError) as raised:
        own(*line).chosen(1)
    assert raised.value.code == "REF-102" and said in raised.value.message


def test_what_a_person_types() -> None:
    assert parse_snapshot("newest", ["public.t"], "") is None and parse_snapshot("4711", ["public.t"], " ") == 4711
    for text, tables, options, code in (
        ("oldest", ["public.t"], "", "CFG-136"),
        ("newest", ["public.t"], "-gr", "CFG-136"),
        ("newest", [], "", "CFG-137"),
    ):
        with pytest.raises(ConfigError) as raised:
            parse_snapshot(text, tables, options)
        assert raised.value.code == code
