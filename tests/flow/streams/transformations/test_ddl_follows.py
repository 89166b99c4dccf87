"""DDL statements follow the names that the rules of a client's rows give to tables and columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.model.table import Column, Key, Table
from airflow_ddlrepl.notation.column_types import column_type
from airflow_ddlrepl.streams.calls.section import StreamsParameters
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.messages import DdlLcr
from airflow_ddlrepl.streams.procedures.run import environment_of
from airflow_ddlrepl.streams.queue.ddl.ddl_follows import lcr_with_row_names, with_row_names
from airflow_ddlrepl.streams.queue.ddl.row_names import RowNames
from airflow_ddlrepl.streams.rules.client import ClientKind

RULES = {"streams_type": "capture", "streams_name": "cap", "queue_name": "q"}
TABLE = {"add_table_rules": {"table_name": "hr.t", **RULES, "dml_rule_name": "r"}}
SCHEMA = {"add_schema_rules": {"schema_name": "hr", **RULES, "dml_rule_name": "s"}}
TO_PUB = {"rename_table": {"rule_name": "r", "from_table_name": "hr.t", "to_table_name": "pub.p"}}
SCHEMA_TO_PUB = {"rename_schema": {"rule_name": "s", "from_schema_name": "hr", "to_schema_name": "pub"}}
K_TO_KK = {"rename_column": {"rule_name": "r", "table_name": "hr.t", "from_column_name": "k", "to_column_name": "kk"}}
NO_SSN = {"delete_column": {"rule_name": "r", "table_name": "hr.t", "column_name": "ssn"}}
KEEP = {"keep_columns": {"rule_name": "r", "table_name": "hr.t", "column_list": "id,k"}}
COLUMNS = ("id", "k", "ssn", "note")


def shape(*names: str, name: str = "hr.t") -> Table:
    columns = tuple(Column(number, one, column_type("integer")) for number, one in enumerate(names, 1))
    return Table(7, TableName(*name.split(".")), columns, Key((1,), "t_pkey", True))


def row_names(*calls: dict[str, Any]) -> RowNames:
    environment = environment_of(StreamsParameters.model_validate({"calls": list(calls)}), NameCase.LOWER)
    return RowNames(environment.clients[ClientKind.CAPTURE, "cap"], "dbs1")


def statement(text: str | None, after: Table | None = None, **more: Any) -> Event:
    before = shape(*COLUMNS)
    found = {"tables": (after or before,), "before": (before,), "settings": {"search_path": "hr, public"}, **more}
    return Event(EventKind.DDL, LogKey(1, 1), 3, 5, statement=text, query=text, **found)


def left(event: Event, *calls: dict[str, Any]) -> Event:
    return with_row_names(event, row_names(*calls), "capture process cap")


TEXTS = [
    ([TABLE, TO_PUB], "ALTER TABLE hr.t ADD x int", "ALTER TABLE pub.p ADD x int"),
    ([TABLE, TO_PUB], "alter table only T add x int, drop k", "alter table only pub.p add x int, drop k"),
    ([TABLE, TO_PUB], "CREATE INDEX i ON hr.t (k) WHERE k > 0", "CREATE INDEX i ON pub.p (k) WHERE k > 0"),
    ([TABLE, TO_PUB], "COMMENT ON COLUMN hr.t.k IS 'hr.t.k'", "COMMENT ON COLUMN pub.p.k IS 'hr.t.k'"),
    ([TABLE, TO_PUB], "ALTER TABLE hr.u ADD FOREIGN KEY (i) REFERENCES t (id)",
     "ALTER TABLE hr.u ADD FOREIGN KEY (i) REFERENCES pub.p (id)"),
    ([TABLE, TO_PUB], "DROP TABLE hr.t, hr.u", "DROP TABLE pub.p, hr.u"),
    ([TABLE, TO_PUB], "CREATE VIEW hr.v AS SELECT hr.t.k FROM hr.t", "CREATE VIEW hr.v AS SELECT pub.p.k FROM pub.p"),
    ([SCHEMA, SCHEMA_TO_PUB], "ALTER SCHEMA hr OWNER TO x", "ALTER SCHEMA pub OWNER TO x"),
    ([SCHEMA, SCHEMA_TO_PUB], "CREATE SEQUENCE hr.s OWNED BY hr.t.k", "CREATE SEQUENCE pub.s OWNED BY pub.t.k"),
    ([SCHEMA, SCHEMA_TO_PUB], "DROP INDEX hr.i", "DROP INDEX pub.i"),
    ([SCHEMA, SCHEMA_TO_PUB], "ALTER TABLE hr.t ADD m hr.mood", "ALTER TABLE pub.t ADD m pub.mood"),
    ([TABLE, K_TO_KK], "ALTER TABLE hr.t ALTER COLUMN k TYPE bigint USING k * 2, ADD CHECK (k > ssn)",
     "ALTER TABLE hr.t ALTER COLUMN kk TYPE bigint USING kk * 2, ADD CHECK (kk > ssn)"),
    ([TABLE, K_TO_KK], 'ALTER TABLE hr.t DROP COLUMN IF EXISTS "k" CASCADE',
     "ALTER TABLE hr.t DROP COLUMN IF EXISTS kk CASCADE"),
    ([TABLE, K_TO_KK], "ALTER TABLE hr.t RENAME k TO z", "ALTER TABLE hr.t RENAME kk TO z"),
    ([TABLE, K_TO_KK], "ALTER TABLE hr.t RENAME COLUMN note TO k", "ALTER TABLE hr.t RENAME COLUMN note TO kk"),
    ([TABLE, K_TO_KK], "CREATE UNIQUE INDEX k ON hr.t USING btree (k, lower(note)) INCLUDE (ssn)",
     "CREATE UNIQUE INDEX k ON hr.t USING btree (kk, lower(note)) INCLUDE (ssn)"),
    ([TABLE, K_TO_KK], "CREATE TABLE hr.t (id int PRIMARY KEY, k int CHECK (k > 0), UNIQUE (k)) PARTITION BY LIST (k)",
     "CREATE TABLE hr.t (id int PRIMARY KEY, kk int CHECK (kk > 0), UNIQUE (kk)) PARTITION BY LIST (kk)"),
    ([TABLE, K_TO_KK], "ALTER TABLE hr.u ADD CONSTRAINT f FOREIGN KEY (k) REFERENCES hr.t (k)",
     "ALTER TABLE hr.u ADD CONSTRAINT f FOREIGN KEY (k) REFERENCES hr.t (kk)"),
    ([TABLE, NO_SSN], "ALTER TABLE hr.t ADD x int, ALTER ssn SET NOT NULL, DROP note",
     "ALTER TABLE hr.t ADD x int, DROP note"),
    ([TABLE, NO_SSN], "ALTER TABLE hr.t ALTER ssn SET NOT NULL, ADD x numeric(10, 2) DEFAULT f(1, 2)",
     "ALTER TABLE hr.t ADD x numeric(10, 2) DEFAULT f(1, 2)"),
    ([TABLE, NO_SSN], "ALTER TABLE hr.t ADD CONSTRAINT n NOT NULL ssn, ADD CONSTRAINT m NOT NULL k",
     "ALTER TABLE hr.t ADD CONSTRAINT m NOT NULL k"),
    ([TABLE, NO_SSN], "CREATE TABLE hr.t (id int, ssn text UNIQUE, k int, UNIQUE (k, ssn))",
     "CREATE TABLE hr.t (id int, k int)"),
    ([TABLE, NO_SSN, TO_PUB], "ALTER TABLE hr.t ADD COLUMN ssn int /* ssn */, ADD y int",
     "ALTER TABLE pub.p ADD y int"),
    ([TABLE, KEEP], "ALTER TABLE hr.t ADD a int, ALTER k SET DEFAULT 1", "ALTER TABLE hr.t ALTER k SET DEFAULT 1"),
]  # fmt: skip


@pytest.mark.parametrize(("calls", "text", "expected"), TEXTS)
def test_names_in_a_text_follow(calls: list[dict[str, Any]], text: str, expected: str) -> None:
    found = left(statement(text), *calls)
    assert found.statement == expected and found.is_transformed and not found.discarded and found.query is None


SAME = [
    ([TABLE, TO_PUB], "ALTER TABLE hr.u ADD k int"),
    ([TABLE, NO_SSN], "ALTER TABLE hr.t ADD t date DEFAULT '2024-01-01'"),
    ([TABLE, K_TO_KK], "ALTER TABLE hr.u ADD k int"),
    ([TABLE], "ALTER TABLE hr.t DROP k"),
]


@pytest.mark.parametrize(("calls", "text"), SAME)
def test_other_statements_stay(calls: list[dict[str, Any]], text: str) -> None:
    event = statement(text, tables=(), before=())
    assert left(event, *calls) is event


DISCARDED = [
    ([TABLE, NO_SSN], "ALTER TABLE hr.t ALTER ssn SET NOT NULL, DROP COLUMN ssn"),
    ([TABLE, NO_SSN], "CREATE INDEX i ON hr.t (k, ssn)"),
    ([TABLE, NO_SSN], "COMMENT ON COLUMN hr.t.ssn IS 'private'"),
    ([TABLE, KEEP], "CREATE INDEX i ON t (anything)"),
    ([TABLE, K_TO_KK], "ALTER TABLE hr.t RENAME k TO kk"),
]


@pytest.mark.parametrize(("calls", "text"), DISCARDED)
def test_a_statement_of_which_nothing_is_left_is_discarded(calls: list[dict[str, Any]], text: str) -> None:
    found = left(statement(text), *calls)
    assert "is deleted or renamed by the rules" in found.discarded and found.statement == text


REFUSED = [
    ([TABLE, NO_SSN], "ALTER TABLE hr.t RENAME ssn TO number", "begin to be there"),
    ([TABLE, NO_SSN], "ALTER TABLE hr.t RENAME k TO ssn", "cease to be there"),
    ([TABLE, NO_SSN], "ALTER TABLE hr.t ADD y int GENERATED ALWAYS AS (ssn + 1) STORED", "made of ssn"),
    ([TABLE, NO_SSN], "CREATE VIEW v AS SELECT k, t.ssn FROM hr.t", "mentions column ssn"),
    ([TABLE, NO_SSN], "GRANT SELECT (ssn) ON hr.t TO x", "mentions column ssn"),
    ([TABLE, NO_SSN], "CREATE TABLE hr.t AS SELECT 1 AS ssn", "made by a query"),
    ([TABLE, TO_PUB], "ALTER TABLE hr.t RENAME TO u", "in another schema"),
    ([TABLE, TO_PUB], "ALTER TABLE hr.t SET SCHEMA oe", "in one statement"),
    ([SCHEMA, SCHEMA_TO_PUB], "ALTER TABLE hr.t ALTER k SET DEFAULT nextval('hr.s'::regclass)", "a text in it"),
    ([TABLE, TO_PUB], "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT k FROM hr.t $$", "a text in it"),
    ([TABLE, TO_PUB], None, "text is not known"),
]


@pytest.mark.parametrize(("calls", "text", "why"), REFUSED)
def test_a_statement_that_can_not_follow_is_refused(calls: list[dict[str, Any]], text: str | None, why: str) -> None:
    with pytest.raises(RuleError, match=why) as error:
        left(statement(text), *calls)
    assert error.value.code == "RUL-161"


def test_rules_that_name_a_table_differently_are_refused() -> None:
    other = {"add_table_rules": {**TABLE["add_table_rules"], "dml_rule_name": "u", "and_condition":
             ":lcr.get_command_type() = 'UPDATE'"}}  # fmt: skip
    here = {"add_table_rules": {**TABLE["add_table_rules"], "and_condition": ":lcr.get_command_type() = 'INSERT'"}}
    elsewhere = {"rename_table": {**TO_PUB["rename_table"], "rule_name": "u", "to_table_name": "hr.z"}}
    with pytest.raises(RuleError, match=r"r, u call table hr\.t differently") as error:
        left(statement("ALTER TABLE hr.t ADD x int"), here, other, TO_PUB, elsewhere)
    assert error.value.code == "RUL-160"


def test_a_column_stays_where_one_rule_leaves_it() -> None:
    deletes = {"add_table_rules": {**TABLE["add_table_rules"], "dml_rule_name": "u", "and_condition":
               ":lcr.get_command_type() = 'DELETE'"}}  # fmt: skip
    event = statement("ALTER TABLE hr.t ALTER ssn SET NOT NULL")
    other = {"add_table_rules": {**TABLE["add_table_rules"], "and_condition": ":lcr.get_command_type() <> 'DELETE'"}}
    assert left(event, other, deletes, NO_SSN) is event


def test_shapes_of_the_event_have_the_names_of_its_rows() -> None:
    event = statement("ALTER TABLE hr.t ADD x int", shape(*COLUMNS, "x"))
    found = left(event, TABLE, TO_PUB, K_TO_KK, NO_SSN)
    (after,), (before,) = found.tables, found.before
    assert [column.name for column in after.columns] == ["id", "kk", "note", "x"] and str(after.name) == "pub.p"
    assert [column.name for column in before.columns] == ["id", "kk", "note"] and after.key == event.tables[0].key


def test_a_truncate_is_one_of_the_renamed_table() -> None:
    event = Event(EventKind.TRUNCATE, LogKey(1, 1), 3, 5, dropped=((7, TableName("hr", "t")),))
    assert left(event, TABLE, TO_PUB).dropped == ((7, TableName("pub", "p")),)


def test_a_table_that_comes_under_another_name_gets_it_by_a_rename() -> None:
    rules = {"add_schema_rules": {**SCHEMA["add_schema_rules"], "dml_rule_name": "r"}}
    to_p = {"rename_table": {**TO_PUB["rename_table"], "to_table_name": "hr.p"}}
    event = statement("ALTER TABLE hr.z RENAME TO t", tables=(shape("id"),), before=(shape("id", name="hr.z"),))
    assert left(event, rules, to_p).statement == "ALTER TABLE hr.z RENAME TO p"
    same = left(statement("ALTER TABLE hr.p RENAME TO t", tables=(), before=()), rules, to_p)
    assert same.discarded == "hr.p is called hr.p before and after"
    moved = statement("ALTER TABLE oe.t SET SCHEMA hr", tables=(shape("id"),), before=(shape("id", name="oe.t"),))
    assert left(moved, SCHEMA, SCHEMA_TO_PUB).statement == "ALTER TABLE oe.t SET SCHEMA pub"


def lcr(text: str, name: str, object_type: str = "TABLE", base: str = "") -> DdlLcr:
    owner, _, own = name.partition(".")
    base_owner, _, base_name = base.partition(".")
    found = DdlLcr(owner, own, object_type=object_type, text=text, current_schema="hr")
    return replace(found, base_owner=base_owner or None, base_name=base_name or None)


@pytest.mark.parametrize(
    ("calls", "before", "after"),
    [
        ([TABLE, TO_PUB], lcr("DROP TABLE t", "hr.t", base="hr.t"), lcr("DROP TABLE pub.p", "pub.p", base="pub.p")),
        ([TABLE, TO_PUB], lcr("CREATE INDEX i ON t (k)", "hr.i", "INDEX", "hr.t"),
         lcr("CREATE INDEX i ON pub.p (k)", "pub.i", "INDEX", "pub.p")),
        ([SCHEMA, SCHEMA_TO_PUB], lcr("DROP VIEW hr.v", "hr.v", "VIEW"), lcr("DROP VIEW pub.v", "pub.v", "VIEW")),
        ([SCHEMA, SCHEMA_TO_PUB], lcr("DROP SCHEMA hr", "hr.hr", "SCHEMA"),
         lcr("DROP SCHEMA pub", "pub.pub", "SCHEMA")),
        ([TABLE, NO_SSN], lcr("ALTER TABLE t DROP ssn", "hr.t", base="hr.t"), None),
        ([TABLE], lcr("ALTER TABLE t DROP k", "hr.t", base="hr.t"), lcr("ALTER TABLE t DROP k", "hr.t", base="hr.t")),
    ],
)  # fmt: skip
def test_a_single_lcr_follows_too(calls: list[dict[str, Any]], before: DdlLcr, after: DdlLcr | None) -> None:
    assert lcr_with_row_names(before, row_names(*calls), "apply process app") == after


def test_a_single_lcr_that_can_not_follow_is_refused() -> None:
    with pytest.raises(RuleError) as error:
        lcr_with_row_names(lcr("ALTER TABLE t RENAME ssn TO n", "hr.t"), row_names(TABLE, NO_SSN), "apply process app")
    assert error.value.code == "RUL-161"
