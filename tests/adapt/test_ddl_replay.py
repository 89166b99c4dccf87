"""The text of a statement: when it may run at a target, and what is made of a plan by it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from airflow_ddlrepl.adapt.plan.change_at_target import ChangeAtTarget
from airflow_ddlrepl.adapt.plan.ddl_replay import Statement, with_source_text
from airflow_ddlrepl.adapt.plan.ddl_replay import unlike as unlike_of
from airflow_ddlrepl.adapt.plan.plan import plan
from airflow_ddlrepl.adapt.plan_model import StepKind, TablePlan
from airflow_ddlrepl.adapt.policy import REPLAYED
from airflow_ddlrepl.adapt.target_facts import TargetFacts, TargetServer
from airflow_ddlrepl.ddl.sql.conversion import computed
from airflow_ddlrepl.ddl.sql.expression import is_value
from airflow_ddlrepl.ddl.sql.replayable import Named, Reading, read
from airflow_ddlrepl.ddl.sql.statement import Evidence
from airflow_ddlrepl.engines.postgres.types.type_system import POSTGRES_TYPES
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.model.table import Column, Key, Table
from airflow_ddlrepl.model.types import DataType
from docs.tools.hvr.outline import OUTLINE

INT = DataType("integer", "pg_catalog", "int4", id=23)
STAMP = DataType("timestamp with time zone", "pg_catalog", "timestamptz", id=1184)
T = TableName("hr", "t")
FACTS = TargetFacts(TargetServer(POSTGRES_TYPES))
OLD = Table(1, T, (Column(1, "id", INT, nullable=False), Column(2, "a", INT)), key=Key((1,), "", True))
ADDED = OLD.with_(columns=(*OLD.columns, Column(3, "c", INT)))


@pytest.mark.parametrize(
    ("statement", "tag", "tables"),
    [
        ("alter table T add c int", "ALTER TABLE", [(None, "t")]),
        ('ALTER TABLE IF EXISTS ONLY hr."T" /* x, y */ ADD c int, DROP d', "ALTER TABLE", [("hr", "T")]),
        ("ALTER TABLE hr.t * ADD c numeric(5, 2);", "ALTER TABLE", [("hr", "t")]),
        ("ALTER TABLE p ATTACH PARTITION hr.q DEFAULT", "ALTER TABLE", [(None, "p"), ("hr", "q")]),
        ("ALTER TABLE p DETACH PARTITION q", "ALTER TABLE", [(None, "p"), (None, "q")]),
        ("ALTER TABLE t ADD FOREIGN KEY (a) REFERENCES u ON DELETE CASCADE", "ALTER TABLE", [(None, "t")]),
        ("DROP TABLE IF EXISTS a, hr.b RESTRICT", "DROP TABLE", [(None, "a"), ("hr", "b")]),
        ("CREATE UNIQUE INDEX ON ONLY t (a)", "CREATE INDEX", [(None, "t")]),
        ('CREATE INDEX IF NOT EXISTS "on" ON hr.t (a)', "CREATE INDEX", [("hr", "t")]),
        ("CREATE TABLE IF NOT EXISTS t (id int)", "CREATE TABLE", []),
    ],
)
def test_what_a_text_is_about(statement: str, tag: str, tables: list[tuple[str | None, str]]) -> None:
    assert read(statement, tag) == Reading(tuple(Named(*table) for table in tables))


def test_a_type_by_its_name() -> None:
    assert read("ALTER TYPE hr.mood ADD VALUE 'x'", "ALTER TYPE") == Reading(type=Named("hr", "mood"))


@pytest.mark.parametrize(
    ("statement", "tag"),
    [
        ("ALTER TABLE t DROP a CASCADE", "ALTER TABLE"),
        ("DROP TABLE t CASCADE", "DROP TABLE"),
        ("DROP INDEX i, j", "DROP INDEX"),
        ("ALTER TABLE p DETACH PARTITION q CONCURRENTLY", "ALTER TABLE"),
        ("ALTER TABLE t ADD c int, SET UNLOGGED", "ALTER TABLE"),
        ("CREATE UNLOGGED TABLE t (id int)", "CREATE TABLE"),
        ("CREATE TABLE t (id int) INHERITS (u)", "CREATE TABLE"),
        ("CREATE TABLE t AS SELECT 1", "CREATE TABLE AS"),
        ("DO $$ BEGIN END $$", "DO"),
        ("DROP SCHEMA hr", "DROP SCHEMA"),
        ("ALTER TABLE t ADD c int; DROP TABLE u", "ALTER TABLE"),
        ("ALTER TABLE t ADD c int --\r; DROP TABLE u", "ALTER TABLE"),
        ("ALTER TABLE t ADD c text DEFAULT '***'", "ALTER TABLE"),
        ("ALTER TABLE t ADD c text DEFAULT 'a\\b'", "ALTER TABLE"),
        ('ALTER TABLE U&"t" ADD c text', "ALTER TABLE"),
        ("ALTER TABLE a.b.c ADD d int", "ALTER TABLE"),
        ("DROP TABLE t", "ALTER TABLE"),
        ("", "ALTER TABLE"),
        ("ALTER TABLE", "ALTER TABLE"),
        ("ALTER VIEW v RENAME TO w", "ALTER TABLE"),
    ],
)
def test_what_may_not_run(statement: str, tag: str) -> None:
    assert read(statement, tag).refused


@pytest.mark.parametrize(
    ("statement", "tag"),
    [
        ("ALTER TABLE t OWNER TO x", "ALTER TABLE"),
        ("ALTER TABLE t SET UNLOGGED", "ALTER TABLE"),
        ("ALTER TABLE t REPLICA IDENTITY FULL", "ALTER TABLE"),
        ("ALTER TABLE t ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY", "ALTER TABLE"),
        ("ALTER TABLE t INHERIT u", "ALTER TABLE"),
        ("CREATE INDEX CONCURRENTLY i ON t (a)", "CREATE INDEX"),
        ("ALTER INDEX i RENAME TO j", "ALTER INDEX"),
        ("ALTER TYPE m OWNER TO x", "ALTER TYPE"),
    ],
)
def test_what_is_the_source_s_own_affair(statement: str, tag: str) -> None:
    reading = read(statement, tag)
    assert reading.local
    assert not reading.refused


def test_what_no_target_needs_may_be_unknown() -> None:
    found = made(event(None, "ALTER INDEX", OLD), OLD)
    assert kinds(found) == [StepKind.WARN]


def test_columns_that_are_called_like_such_an_affair_are_columns() -> None:
    assert read('ALTER TABLE t DROP "owner", ADD enable int', "ALTER TABLE") == Reading((Named(None, "t"),))


def event(statement: str | None = "ALTER TABLE hr.t ADD c int", tag: str = "ALTER TABLE", new: Table = ADDED) -> Event:
    settings = {"search_path": '"$user", hr', "timezone": "Asia/Tokyo"}
    return Event(EventKind.DDL, LogKey(9, 1), 1, 0, tag=tag, statement=statement, settings=settings, tables=(new,))


def made(happened: Event, new: Table | None = ADDED, old: Table | None = OLD, **more: object) -> TablePlan:
    known = Evidence(rewritten=False, filled=False, has_using=False, statement=happened.statement)
    found = plan(ChangeAtTarget(old, new, OUTLINE, FACTS, known, REPLAYED))
    of = Statement(happened, old, new, old, old, {1: T}, may_call=True)
    return with_source_text(found, replace(of, **more), OUTLINE, POSTGRES_TYPES)  # type: ignore[arg-type]


unlike = partial(unlike_of, types=POSTGRES_TYPES)


def kinds(found: TablePlan) -> list[StepKind]:
    return [step.kind for step in found.steps]


def test_the_text_takes_the_place_of_the_planner_s_sql() -> None:
    found = made(event())
    assert found.sql == ("ALTER TABLE hr.t ADD c int",)
    assert found.steps[0].shared
    assert found.expected is not None
    assert found.expected.shape == found.shape == ADDED


@pytest.mark.parametrize(
    ("happened", "more", "code"),
    [
        (event(None), {}, "ADP-150"),
        (replace(event(), is_inspected=True), {}, "ADP-150"),
        (event("ALTER TABLE hr.t ADD c int CASCADE"), {}, "ADP-151"),
        (event("ALTER TABLE hr.other ADD c int"), {}, "ADP-151"),
        (event("ALTER TABLE ops.t ADD c int"), {}, "ADP-151"),
        (event(), {"adapted": (TableName("sales", "u"),)}, "ADP-152"),
        (event(), {"loaded": (TableName("hr", "u"),)}, "ADP-152"),
        (event(), {"was": ADDED}, "ADP-153"),
        (event(), {"in_the_way": True}, "ADP-153"),
        (event("ALTER TABLE hr.t OWNER TO x"), {}, "ADP-151"),
    ],
)
def test_refused_and_told_what_to_do(happened: Event, more: dict[str, Any], code: str) -> None:
    found = made(happened, **more)
    assert kinds(found) == [StepKind.REFUSE]
    error = found.refusal()
    assert error is not None
    assert error.code == code
    assert "exclude" in error.hint


def test_a_table_that_joins_by_another_statement_is_loaded() -> None:
    """Its plan is the ordinary one."""
    found = made(event("CREATE TABLE hr.t AS SELECT 1", "CREATE TABLE AS"), old=None, present=None)
    assert found.expected is None
    assert [kind for kind in kinds(found) if kind is StepKind.REFUSE] == []


def test_a_table_that_is_dropped_is_gone() -> None:
    happened = replace(event("DROP TABLE t", "DROP TABLE"), tables=(), dropped=((1, T),))
    found = made(happened, None)
    assert found.is_removed
    assert found.sql == ("DROP TABLE t",)
    assert found.expected is not None
    assert unlike(found.expected, None) == ()
    assert unlike(found.expected, OLD) == ("it is still there",)


def test_a_moment_is_put_as_the_source_has_it() -> None:
    column = Column(3, "c", STAMP, default="now()", missing="2026-01-01 00:00:00+00")
    new = OLD.with_(columns=(*OLD.columns, column))
    found = made(event("ALTER TABLE hr.t ADD c timestamptz DEFAULT now()", new=new), new)
    assert found.sql[-1] == "fill_column c = 2026-01-01 00:00:00+00"


def test_what_the_text_brings_along_is_no_hazard() -> None:
    """A default that calls a function of the user's stays behind when the table is adapted."""
    new = OLD.with_(columns=(*OLD.columns, Column(3, "c", INT, default="hr.next_c()", missing="1")))
    adapted = plan(ChangeAtTarget(OLD, new, OUTLINE, FACTS, policy=REPLAYED))
    assert adapted.hazards == adapted.left_at_source != ()
    assert made(event("ALTER TABLE hr.t ADD c int DEFAULT hr.next_c()", new=new), new).hazards == ()


def test_what_the_text_has_made_is_compared() -> None:
    expected = made(event()).expected
    assert expected is not None
    there = ADDED.with_(id=77, columns=tuple(reversed(ADDED.columns)))
    assert unlike(expected, there) == ()
    own = Column(9, "people_s", INT)
    assert unlike(expected, there.with_(columns=(*there.columns, own))) == ()
    assert unlike(expected, None) == ("it is not there",)
    assert unlike(expected, OLD) == ("add_column c integer",)
    assert unlike(expected, there.with_(key=None))
    assert unlike(expected, there.with_(columns=tuple(replace(c, nullable=True) for c in there.columns)))
    assert unlike(expected, there.with_(columns=tuple(replace(c, default="1") for c in there.columns)))
    assert unlike(expected, there.with_(partition_key="RANGE (id)"))


@pytest.mark.parametrize(
    ("using", "is_plain"),
    [
        ("a * 2 + id", True), ("(a - 1) % 7", True), ("-a", True), ("a / 2.5", True), ("a", True),
        ("a ** 2", False), ("abs(a)", False), ("a::bigint", False), ("b", False), ("a || 'x'", False),
        ("a + now", False), ("id (a)", False), ("(SELECT 1)", False), ("a # 1", False), ("a * - id", False),
    ],
)  # fmt: skip
def test_arithmetic_is_the_same_everywhere(using: str, is_plain: bool) -> None:
    found = computed(f"ALTER TABLE t ALTER COLUMN a TYPE bigint USING {using}, ADD z int", frozenset({"a", "id"}))
    assert found == ({"a"} if is_plain else set())


@pytest.mark.parametrize(
    ("expression", "value", "same"),
    [
        ("7", "7", True), ("'-7'::integer", "-7", True), ("true", "t", True), ("'it''s'::text", "it's", True),
        ("'2020-01-01'::date", "2020-01-01", True), ("now()", "now()", False), ("8", "7", False), ("7 + 1", "7", False),
        ("", "", False), ("'a'::text || 'b'::text", "a", False), ("CURRENT_USER", "current_user", False),
    ],
)  # fmt: skip
def test_a_default_that_is_just_that_value(expression: str, value: str, same: bool) -> None:
    assert is_value(expression, value) == same
