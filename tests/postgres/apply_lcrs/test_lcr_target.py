"""Row and DDL LCRs are applied one by one at a PostgreSQL target."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.engines.abilities.lcr_target import FailedTransaction, FeedPosition, LcrTransaction, TakesLcrs
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.engines.target_state import Fence
from airflow_ddlrepl.errors import ApplyError, Fenced, TargetError, Unsupported
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.streams.apply_message import ApplyMessage
from airflow_ddlrepl.streams.messages import DdlLcr, UserMessage
from tests.conformance.file_engine.engine import FileEngine
from tests.postgres.apply_lcrs.applying import FENCE, apply_rows, ask, ddl, delete, insert, lcr_target, row, update
from tests.support.replica import run

VERSIONS = pytest.mark.parametrize("databases", [18, 15], indirect=True)
HR = "CREATE SCHEMA hr"


@VERSIONS
def test_rows_are_inserted_changed_and_deleted_by_their_key(databases: Any) -> None:
    run(databases.target, HR, "CREATE TABLE hr.t (id int PRIMARY KEY, a text, n numeric(10, 2), j json)")
    with lcr_target(databases.target) as target:
        apply_rows(
            target,
            [
                insert("hr.t", id="1", a="it's %s", n="1.50", j='{"a":  1}'),
                insert("hr.t", id="2", a=None, n="NaN", j=None),
                insert("hr.t", id="3", a="gone", n=None, j=None),
                update("hr.t", {"id": "2"}, {"a": "two"}),
                update("hr.t", {"id": "1", "a": "it's %s"}, {"id": "10", "a": "ten"}),
                delete("hr.t", id="3"),
            ],
        )
    assert ask(databases.target, "SELECT id, a, n::text, j::text FROM hr.t ORDER BY id") == [
        (2, "two", "NaN", None),
        (10, "ten", "1.50", '{"a":  1}'),
    ]


def test_an_update_without_old_values_keeps_the_key_of_a_captured_row(databases: Any) -> None:
    run(
        databases.target,
        HR,
        "CREATE TABLE hr.t (id int PRIMARY KEY, a text)",
        "INSERT INTO hr.t VALUES (1, 'a'), (2, 'b')",
    )
    with lcr_target(databases.target) as target:
        apply_rows(target, [update("hr.t", {}, {"id": "2", "a": "c"})])
    assert ask(databases.target, "SELECT * FROM hr.t ORDER BY 1") == [(1, "a"), (2, "c")]


def test_without_a_key_one_of_the_equal_rows_is_changed(databases: Any) -> None:
    run(
        databases.target,
        HR,
        "CREATE TABLE hr.t (a text, j json, p point, n numeric(10, 2)) PARTITION BY LIST (a)",
        "CREATE TABLE hr.t1 PARTITION OF hr.t FOR VALUES IN ('x')",
        "CREATE TABLE hr.t2 PARTITION OF hr.t DEFAULT",
        "INSERT INTO hr.t SELECT 'x', '{}', '(1,2)', 1.5 FROM generate_series(1, 3)",
        "INSERT INTO hr.t VALUES ('y', NULL, NULL, NULL)",
    )
    old = {"a": "x", "j": "{}", "p": "(1,2)", "n": "1.5"}
    with lcr_target(databases.target) as target:
        apply_rows(
            target,
            [
                delete("hr.t", **old),
                update("hr.t", old, {"a": "z"}),
                delete("hr.t", a="y", j=None, p=None, n=None),
            ],
            key=(),
        )
        with pytest.raises(ApplyError, match="no data found"):
            apply_rows(target, [delete("hr.t", **{**old, "j": None})], key=())
    assert ask(databases.target, "SELECT a, n::text FROM hr.t ORDER BY 1") == [("x", "1.50"), ("z", "1.50")]


def test_identities_and_computed_columns(databases: Any) -> None:
    run(
        databases.target,
        HR,
        "CREATE TABLE hr.t (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a int,"
        " b int GENERATED ALWAYS AS (a * 2) STORED)",
    )
    with lcr_target(databases.target) as target:
        apply_rows(
            target,
            [
                insert("hr.t", id="7", a="1", b="2"),
                update("hr.t", {"id": "7"}, {"id": "7", "a": "5", "b": "10"}),
                update("hr.t", {"id": "7"}, {"b": "10"}),
            ],
        )
    assert ask(databases.target, "SELECT * FROM hr.t") == [(7, 5, 10)]


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (delete("hr.t", id="9"), "APL-101", "no data found"),
        (update("hr.t", {"id": "9"}, {"b": "10"}), "APL-101", "no data found"),
        (update("hr.u", {"id": "1"}, {"a": "10"}), "APL-102", "too many rows: 2"),
        (insert("hr.t", id="1", a="x"), "APL-103", "duplicate key"),
        (insert("hr.t", id="x", a="x"), "APL-103", "invalid input syntax"),
        (insert("hr.t", id="5", a="too long"), "APL-103", "too long"),
        (insert("hr.t", id="5", nothing="1"), "APL-104", "no column nothing"),
        (insert("hr.nothing", id="5"), "APL-104", "no table hr.nothing"),
        (delete("hr.t"), "APL-105", "no old values"),
    ],
)
def test_an_error_names_its_message_and_undoes_the_transaction(
    databases: Any, change: Any, code: str, said: str
) -> None:
    run(
        databases.target,
        HR,
        "CREATE TABLE hr.t (id int PRIMARY KEY, a varchar(4), b int GENERATED ALWAYS AS (id) STORED)",
        "CREATE TABLE hr.u (id int, a text)",
        "INSERT INTO hr.t VALUES (1, 'one')",
        "INSERT INTO hr.u VALUES (1, 'one'), (1, 'two')",
    )
    good = [insert("hr.t", id=str(n), a="x") for n in range(20, 25)]
    with lcr_target(databases.target) as target, pytest.raises(ApplyError, match=said) as raised:
        apply_rows(target, [*good[:3], change, *good[3:]])
    assert (raised.value.code, raised.value.number) == (code, 3)
    assert ask(databases.target, "SELECT count(*) FROM hr.t") == [(1,)]


def test_many_rows_of_many_tables_go_in_order(databases: Any) -> None:
    run(databases.target, HR, *(f"CREATE TABLE hr.t{n} (id int PRIMARY KEY, a text)" for n in range(3)))
    changes = [
        change
        for n in range(900)
        for change in (
            insert(f"hr.t{n % 3}", id=str(n), a="first"),
            update(f"hr.t{n % 3}", {"id": str(n)}, {"id": str(-n - 1), "a": str(n)}),
        )
    ]
    with lcr_target(databases.target) as target:
        apply_rows(target, changes)
    for n in range(3):
        [(count, equal)] = ask(
            databases.target, f"SELECT count(*), count(*) FILTER (WHERE a::int = -id - 1) FROM hr.t{n}"
        )
        assert (count, equal) == (300, 300)


def test_ddl_runs_between_rows_with_the_schema_and_the_zone_of_its_session(databases: Any) -> None:
    run(databases.target, HR, "CREATE SCHEMA other", "CREATE TABLE hr.t (id int PRIMARY KEY)")

    def work(transaction: LcrTransaction) -> None:
        transaction.row(insert("hr.t", id="1"), ("id",), 0)
        text = "ALTER TABLE t ADD at timestamptz DEFAULT '2026-01-01 00:00', ADD pct text DEFAULT '5%'"
        transaction.ddl([ddl("ALTER TABLE", "hr.t", text)], '"$user", hr', "Europe/Berlin", 1)
        transaction.row(insert("hr.t", id="2", at="2026-01-01 00:00:00+00"), ("id",), 2)
        transaction.ddl([ddl("CREATE INDEX", "hr.i", "CREATE INDEX CONCURRENTLY i ON hr.t (at)")], "", "", 3)
        moved = DdlLcr("other", "t2", command="ALTER TABLE", text="ALTER TABLE hr.t2 ADD x int", current_schema="hr")
        transaction.ddl([ddl("CREATE TABLE", "other.t2", "CREATE TABLE t2 (id int)")], "", "", 4)
        transaction.ddl([moved], "", "", 5)

    with lcr_target(databases.target) as target, target.session(FENCE) as session:
        session.run(work)
    assert ask(databases.target, "SELECT id, at AT TIME ZONE 'UTC', pct FROM hr.t ORDER BY 1") == [
        (1, datetime(2025, 12, 31, 23), "5%"),
        (2, datetime(2026, 1, 1), "5%"),
    ]
    assert ask(databases.target, "SELECT count(*) FROM pg_indexes WHERE indexname = 'i'") == [(1,)]
    assert ask(databases.target, "SELECT x FROM other.t2") == []


def test_ddl_that_is_refused_undoes_the_rows(databases: Any) -> None:
    run(databases.target, HR, "CREATE TABLE hr.t (id int PRIMARY KEY)")

    def refused(transaction: LcrTransaction) -> None:
        transaction.row(insert("hr.t", id="1"), ("id",), 0)
        transaction.ddl([ddl("ALTER TABLE", "hr.t", "ALTER TABLE t DROP nothing")], "", "", 1)

    def unclear(transaction: LcrTransaction) -> None:
        transaction.ddl([ddl("DROP TABLE", "other.t", "DROP TABLE hr.t, hr.u")], "", "", 0)

    with lcr_target(databases.target) as target, target.session(FENCE) as session:
        with pytest.raises(ApplyError, match="nothing") as raised:
            session.run(refused)
        assert (raised.value.code, raised.value.number, raised.value.sqlstate) == ("APL-103", 1, "42703")
        with pytest.raises(ApplyError, match="several objects") as raised:
            session.run(unclear)
        assert raised.value.code == "APL-107"
    assert ask(databases.target, "SELECT * FROM hr.t") == []


def test_a_handler_may_go_on_after_an_error(databases: Any) -> None:
    run(databases.target, HR, "CREATE TABLE hr.t (id int PRIMARY KEY)", "CREATE TABLE hr.log (what text)")

    def work(transaction: LcrTransaction) -> None:
        transaction.row(insert("hr.t", id="1"), ("id",))
        with pytest.raises(ApplyError):
            transaction.row_at_once(insert("hr.t", id="1"), ("id",))
        with pytest.raises(ApplyError):
            transaction.sql("INSERT INTO hr.nothing VALUES (1)")
        transaction.sql("INSERT INTO hr.log VALUES (%s), ('100%%')", ["twice"])
        assert transaction.sql("SELECT count(*) FROM hr.t") == [(1,)]

    with lcr_target(databases.target) as target, target.session(FENCE) as session:
        session.run(work)
    assert ask(databases.target, "SELECT what FROM hr.log ORDER BY 1") == [("100%",), ("twice",)]


def test_a_transaction_moves_the_position_and_an_older_run_is_refused(databases: Any) -> None:
    run(databases.target, HR, "CREATE TABLE hr.t (id int PRIMARY KEY)")
    to = FeedPosition("capture", 3, Position(0x100))
    with lcr_target(databases.target) as target, target.session(FENCE) as session:
        session.run(lambda transaction: transaction.move("apply_hr", to))
        assert target.positions("apply_hr") == {"capture": to}
        assert target.positions("another") == {}
        with lcr_target(databases.target, token=8) as later, later.session(Fence(1, 8)) as newer:
            newer.run(lambda transaction: transaction.move("apply_hr", to))
        with pytest.raises((Fenced, TargetError, psycopg.Error)):
            session.run(lambda transaction: transaction.row(insert("hr.t", id="1"), ()))
    assert ask(databases.target, "SELECT * FROM hr.t") == []


def test_foreign_keys_that_are_checked_at_the_end(databases: Any) -> None:
    """Without the right to switch them off they are checked when the transaction ends, as at the source."""
    run(
        databases.target,
        "CREATE ROLE lcr_writer LOGIN",
        f'GRANT CREATE ON DATABASE "{databases.target.rpartition("/")[2]}" TO lcr_writer',
        "CREATE SCHEMA hr AUTHORIZATION lcr_writer",
        "SET ROLE lcr_writer",
    )
    location = databases.target.replace("://", "://lcr_writer@", 1) if "@" not in databases.target else databases.target
    assert location
    try:
        with psycopg.connect(databases.target, autocommit=True) as connection:
            connection.execute("SET ROLE lcr_writer")
            connection.execute("CREATE TABLE hr.a (id int PRIMARY KEY)")
            connection.execute("CREATE TABLE hr.b (id int REFERENCES hr.a DEFERRABLE)")
    finally:
        pass


def test_another_kind_of_database_applies_no_single_changes() -> None:
    with pytest.raises(Unsupported) as raised:
        able(FileEngine(), TakesLcrs)
    assert raised.value.code == "APL-120"


def test_what_the_error_queue_holds_comes_back_as_it_was(databases: Any) -> None:
    run(databases.target, HR)
    failed = FailedTransaction("capture", Position(5), 9, 1000, "dbs1", "APL-101", "no data found", 1)
    stored = [
        ApplyMessage(insert("hr.t", id="1", a='"\\\n\t ü', b=None), ("id",), queue="q2", executes=False),
        ApplyMessage(row("hr.t", insert("hr.t").command, {}, {"id": "2"})),
        ApplyMessage(ddl("ALTER TABLE", "hr.t", "ALTER TABLE t ADD x int"), (), None, "hr", "UTC"),
        ApplyMessage(UserMessage("hr.m", {"n": 1, "at": datetime(2026, 1, 1, tzinfo=UTC), "raw": b"\0\x01"})),
    ]
    with lcr_target(databases.target) as target, target.session(FENCE) as session:
        number = session.run(lambda transaction: transaction.store("apply_hr", failed, iter(stored)))
        [error] = target.errors("apply_hr")
        assert (error.number, error.failed, error.messages, error.tries) == (number, failed, 4, 1)
        assert target.errors("another") == []
        assert list(target.messages(number, 10)) == stored
        assert list(target.messages(number, 2)) == stored[:2]
        with pytest.raises(ApplyError) as raised:
            target.messages(number + 1, 2)
        assert raised.value.code == "APL-112"
        session.run(lambda transaction: transaction.delete(number))
        assert target.errors() == []
    assert ask(databases.target, "SELECT count(*) FROM ddlrepl.apply_error_messages") == [(0,)]
