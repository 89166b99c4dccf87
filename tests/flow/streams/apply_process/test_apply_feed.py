"""An apply client applies a feed's transactions in order, each once; what fails waits whole in the error queue."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.config.sections.policies import DdlCapture
from airflow_ddlrepl.engines.postgres.source import helper_schema
from airflow_ddlrepl.errors import ApplyError, RuleError
from airflow_ddlrepl.flow.streams.apply_process import apply_feed, spool
from airflow_ddlrepl.flow.streams.apply_process.error_queue import chosen, delete, listed, shown
from airflow_ddlrepl.streams.messages import DdlLcr, RowLcr, UserMessage
from tests.flow.streams.apply_process.apply_client import ApplyClient, transactions
from tests.postgres.apply_lcrs.applying import FENCE, ask, ddl, insert, update
from tests.postgres.apply_lcrs.applying import delete as deleted
from tests.support.replica import run

GOES_ON = {"set_parameter": {"apply_name": "apply_hr", "parameter": "disable_on_error", "value": "N"}}
TABLE = ("CREATE SCHEMA hr", "CREATE TABLE hr.t (id int PRIMARY KEY, k int, note text)")
DML = {
    "add_table_rules": {
        "table_name": "hr.t", "streams_type": "apply", "streams_name": "apply_hr", "queue_name": "q",
        "source_database": "dbs1", "dml_rule_name": "dml_t",
    }
}  # fmt: skip
TRANSFORMED = {"set_rule_transform_function": {"rule_name": "dml_t", "transform_function": "changed"}}


@pytest.fixture
def target(databases: Any) -> str:
    run(databases.target, *TABLE)
    return str(databases.target)


def rows(location: str) -> list[tuple[Any, ...]]:
    return ask(location, "SELECT id, note FROM hr.t ORDER BY id")


def t(number: int, note: str = "x") -> RowLcr:
    return insert("hr.t", id=str(number), note=note)


def test_transactions_are_applied_once_and_the_position_goes_with_them(target: str) -> None:
    client = ApplyClient(target)
    queue = transactions([t(1), t(2)], [update("hr.t", {"id": "1"}, {"note": "new"})], [deleted("hr.t", id="2")])
    done = client.run(queue)
    assert (done.transactions, dict(done.kinds), done.failed) == (3, {"insert": 2, "update": 1, "delete": 1}, 0)
    assert (rows(target), client.position) == ([(1, "new")], 121)
    assert client.run(queue).transactions == 0
    assert client.run([*queue, *transactions([t(3)], start=130)]).transactions == 1
    assert (rows(target), client.position) == ([(1, "new"), (3, "x")], 131)


def test_transactions_share_one_at_the_target_until_one_fails(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply_feed, "TRANSACTIONS", 4)
    queue = transactions(*([t(n)] for n in range(10)), [t(3)], [t(20)])
    done = ApplyClient(target, (GOES_ON,)).run(queue)
    assert (done.transactions, done.failed) == (11, 1)
    assert [number for number, _ in rows(target)] == [*range(10), 20]
    together = ask(target, "SELECT count(DISTINCT xmin::text) FROM hr.t WHERE id < 8")
    assert together == [(2,)]


@pytest.mark.parametrize("point", ["apply.transaction", "apply.committed"])
def test_a_run_that_dies_is_made_good_by_the_next(target: str, point: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def die(name: str) -> None:
        if name == point:
            raise Killed

    client = ApplyClient(target, (GOES_ON,))
    queue = transactions([t(1)], [t(1)], [t(2)])
    with monkeypatch.context() as dying:
        for module in ("flow.streams.apply_process.apply_feed", "engines.postgres.apply_lcrs.target"):
            dying.setattr(f"airflow_ddlrepl.{module}.reach", die)
        for _ in range(3):
            with pytest.raises(Killed):
                client.run(queue)
    client.run(queue)
    assert [number for number, _ in rows(target)] == [1, 2]
    assert (client.position, client.waiting) == (121, [(1, "23505", 0)])


def test_a_failed_transaction_stops_the_client_until_a_person_decides(target: str) -> None:
    client = ApplyClient(target)
    queue = transactions([t(1)], [t(2), t(1), t(3)], [t(4)])
    with pytest.raises(ApplyError, match="apply_hr is disabled") as raised:
        client.run(queue)
    assert raised.value.code == "APL-110"
    assert (rows(target), client.position) == ([(1, "x")], 111)
    assert client.waiting == [(3, "23505", 1)]
    with pytest.raises(ApplyError, match="fails again") as raised:
        client.retry()
    assert raised.value.code == "APL-114"
    run(target, "UPDATE hr.t SET id = 10")
    assert len(client.retry()) == 1
    assert [number for number, _ in rows(target)] == [1, 2, 3, 10]
    client.run(queue)
    assert [number for number, _ in rows(target)] == [1, 2, 3, 4, 10]


def test_errors_are_retried_in_the_order_of_their_commits_up_to_one_that_fails(target: str) -> None:
    client = ApplyClient(target, (GOES_ON,))
    first, second, third = [t(1, "again")], [update("hr.t", {"id": "9"}, {"note": "n"})], [t(1, "third")]
    run(target, "INSERT INTO hr.t VALUES (1, 0, 'theirs')")
    assert client.run(transactions(first, second, third)).failed == 3
    assert client.waiting == [(1, "23505", 0), (1, "APL-101", 0), (1, "23505", 0)]
    run(target, "DELETE FROM hr.t")
    with pytest.raises(ApplyError, match="no data found"):
        client.retry()
    assert rows(target) == [(1, "again")]
    with client.target() as there:
        kept = there.errors()
        assert [one.tries for one in kept] == [2, 1]
        with there.session(FENCE) as session:
            delete(session, kept)
            with pytest.raises(ApplyError) as raised:
                delete(session, kept)
        assert raised.value.code == "APL-112"
        assert there.errors() == []


@pytest.mark.req("ST-Y-13")
def test_the_error_queue_has_all_messages_of_the_transaction_transformed(target: str) -> None:
    calls = (DML, TRANSFORMED, GOES_ON)
    client = ApplyClient(target, calls, {"changed": lambda lcr: replace(lcr, new={**lcr.new, "note": "T"})})
    run(target, "ALTER TABLE hr.t ADD CHECK (id < 3)")
    client.run(transactions([t(1), t(2), t(3)]))
    assert (rows(target), client.waiting) == ([], [(3, "23514", 2)])
    with client.target() as there:
        [error] = there.errors()
        messages = [one.message for one in there.messages(error.number, 10)]
        assert [(m.new["id"], m.new["note"]) for m in messages if isinstance(m, RowLcr)] == [
            ("1", "T"),
            ("2", "T"),
            ("3", "T"),
        ]


@pytest.mark.req("ST-Y-14")
def test_a_retry_transforms_nothing_again(target: str) -> None:
    called = []

    def changed(lcr: RowLcr) -> RowLcr:
        called.append(lcr)
        return replace(lcr, new={**lcr.new, "note": f"{lcr.new['note']}x"})

    client = ApplyClient(target, (DML, TRANSFORMED, GOES_ON), {"changed": changed})
    run(target, "INSERT INTO hr.t VALUES (2, 0, 'theirs')")
    client.run(transactions([t(1, "a"), t(2, "b")]))
    assert (len(called), len(client.waiting)) == (2, 1)
    run(target, "DELETE FROM hr.t")
    client.retry()
    assert (rows(target), len(called), client.waiting) == ([(1, "ax"), (2, "bx")], 2, [])


@pytest.mark.req("ST-Y-11", "ST-Y-12")
def test_a_message_that_can_not_be_transformed_waits_with_its_transaction(target: str) -> None:
    def changed(lcr: RowLcr) -> RowLcr:
        if lcr.new["id"] == "3":
            raise ValueError("not this one")
        return lcr

    queue = transactions([t(1)], [t(2), t(3), t(4)], [t(5)])
    client = ApplyClient(target, (DML, TRANSFORMED, GOES_ON), {"changed": changed})
    for _ in range(2):
        with pytest.raises(ApplyError, match=r"can't be dequeued.*not this one") as raised:
            client.run(queue)
        assert raised.value.code == "APL-113"
        assert (rows(target), client.position, client.waiting) == ([(1, "x")], 101, [])
    ApplyClient(target, (DML, GOES_ON)).run(queue)
    assert [number for number, _ in rows(target)] == [1, 2, 3, 4, 5]


@pytest.mark.req("ST-Y-18")
def test_a_declared_transformation_that_fails_does_the_same(target: str) -> None:
    added = {"rule_name": "dml_t", "table_name": "hr.t", "column_name": "note", "column_value": "y"}
    client = ApplyClient(target, (DML, {"add_column": added}))
    with pytest.raises(ApplyError, match="RUL-122"):
        client.run(transactions([t(1)]))
    assert (rows(target), client.position, client.waiting) == ([], 0, [])


def test_a_transaction_of_many_messages_is_not_held_in_memory(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "IN_MEMORY", 10)
    monkeypatch.setattr(spool.Spool.__init__, "__defaults__", (10,))
    client = ApplyClient(target, (GOES_ON,))
    client.run(transactions([t(n) for n in range(3000)], [*(t(n) for n in range(3000, 6000)), t(0)]))
    assert ask(target, "SELECT count(*) FROM hr.t") == [(3000,)]
    assert client.waiting == [(3001, "23505", 3000)]
    run(target, "DELETE FROM hr.t WHERE id = 0")
    client.retry()
    assert ask(target, "SELECT count(*) FROM hr.t") == [(6000,)]


def test_ddl_between_rows_runs_once_for_all_its_objects(target: str) -> None:
    run(target, "CREATE TABLE hr.a ()", "CREATE TABLE hr.b ()")
    drop = [ddl("DROP TABLE", f"hr.{name}", "DROP TABLE a, hr.b") for name in ("a", "b")]
    [one] = transactions([t(1), ddl("ALTER TABLE", "hr.t", "ALTER TABLE t ADD x int DEFAULT 5"), *drop, t(2)])
    queued = list(one.messages)
    same_place = [replace(m, key=queued[2].key) if m.message in drop else m for m in queued]
    client = ApplyClient(target)
    done = client.run([replace(one, messages=same_place)])
    assert dict(done.kinds) == {"insert": 2, "ddl": 3}
    assert ask(target, "SELECT id, x FROM hr.t ORDER BY 1") == [(1, 5), (2, 5)]
    assert ask(target, "SELECT to_regclass('hr.a'), to_regclass('hr.b')") == [(None, None)]


def test_changes_that_a_table_has_already_are_ignored(target: str) -> None:
    known = {"source_object_name": "hr.t", "source_database_name": "dbs1", "instantiation_scn": 110}
    client = ApplyClient(target, ({"set_table_instantiation_scn": known},))
    done = client.run(transactions([t(1)], [t(2)], [t(3)]))
    assert (rows(target), done.transactions, client.position) == ([(3, "x")], 1, 121)


def test_no_rule_is_asked_about_what_a_table_has_already(target: str) -> None:
    """The log lacks the old values of a change that was made before the table was loaded."""
    in_subset = {k: DML["add_table_rules"][k] for k in ("table_name", "streams_type", "streams_name", "queue_name")}
    subset = {"add_subset_rules": {**in_subset, "dml_condition": "note = 'in'"}}
    queue = transactions([update("hr.t", {}, {"id": "1", "k": "5"})], [t(2, "in")])
    with pytest.raises(ApplyError, match="RUL-132"):
        ApplyClient(target, (subset,)).run(queue)
    known = {"source_object_name": "hr.t", "source_database_name": "dbs1", "instantiation_scn": 100}
    ApplyClient(target, (subset, {"set_table_instantiation_scn": known})).run(queue)
    assert rows(target) == [(2, "in")]


def test_another_source_database_is_not_the_clients(target: str) -> None:
    calls = {"create_apply": {"apply_name": "other", "queue_name": "q"}}
    client = ApplyClient(target, (calls,))
    rules = client.rules
    rules.settings = replace(rules.settings, source_database="dbs2")
    [one] = transactions([t(1)])
    [incoming] = one.messages
    assert rules.taken(incoming) == []
    assert rules.discarded == {"hr.t: it is not of the client's source database": 1}


HANDLER = {"set_dml_handler": {"object_name": "hr.t", "operation_name": "INSERT", "user_procedure": "handler"}}


@pytest.mark.req("ST-R-20", "ST-X-66")
def test_a_handler_gets_the_transformed_message_in_place_of_the_apply(target: str) -> None:
    trace: list[str] = []

    def changed(lcr: RowLcr) -> RowLcr:
        trace.append("transform")
        return replace(lcr, new={**lcr.new, "note": "transformed"})

    def handler(lcr: RowLcr, apply: Any) -> None:
        trace.append(f"handler {lcr.new['note']}")
        apply.sql("UPDATE hr.t SET k = coalesce(k, 0) + 1")
        apply.execute(replace(lcr, new={**lcr.new, "k": 40}))

    client = ApplyClient(target, (DML, TRANSFORMED, HANDLER), {"changed": changed, "handler": handler})
    client.run(transactions([t(1), t(2), update("hr.t", {"id": "1"}, {"note": "u"})]))
    assert trace[:2] == ["transform"] * 2
    assert trace[-2:] == ["handler transformed"] * 2
    assert ask(target, "SELECT id, k, note FROM hr.t ORDER BY 1") == [(1, 41, "transformed"), (2, 40, "transformed")]


def test_a_handler_that_raises_is_the_transactions_error(target: str) -> None:
    def handler(lcr: RowLcr, apply: Any) -> None:
        apply.execute(lcr)
        if lcr.new["id"] == "2":
            raise KeyError("missing")

    client = ApplyClient(target, (HANDLER, GOES_ON), {"handler": handler})
    client.run(transactions([t(1), t(2)], [t(3)]))
    assert (rows(target), client.waiting) == ([(3, "x")], [(2, "APL-106", 1)])
    ApplyClient(target, (HANDLER,), {"handler": lambda lcr, apply: apply.execute(lcr)}).retry()
    assert [number for number, _ in rows(target)] == [1, 2, 3]


def test_an_error_handler_is_asked_when_a_change_can_not_be_applied(target: str) -> None:
    def handler(lcr: RowLcr, apply: Any) -> None:
        assert apply.error.sqlstate == "23505"
        apply.execute(replace(lcr, new={**lcr.new, "id": int(lcr.new["id"]) + 100}))

    on_error = {"set_dml_handler": {**HANDLER["set_dml_handler"], "operation_name": "DEFAULT", "error_handler": True}}
    client = ApplyClient(target, (on_error, GOES_ON), {"handler": handler})
    client.run(transactions([t(1), t(1), t(2)]))
    assert [number for number, _ in rows(target)] == [1, 2, 101]
    run(target, "CREATE TABLE hr.w (id int PRIMARY KEY)")
    client.run(transactions([insert("hr.w", id="1"), deleted("hr.w", id="2"), t(3)], start=200))
    assert (client.waiting, rows(target)[2:]) == ([(3, "APL-101", 1)], [(101, "x")]), "another table's error is not its"


def test_handlers_for_ddl_and_for_the_end_of_a_transaction(target: str) -> None:
    seen: list[Any] = []

    def on_ddl(lcr: DdlLcr, apply: Any) -> None:
        seen.append(lcr.command)
        apply.execute(replace(lcr, text=lcr.text.replace("x int", "y int")))

    def at_end(commit_number: int, apply: Any) -> None:
        seen.append((commit_number, apply.sql("SELECT count(*) FROM hr.t")))

    alter = {"alter_apply": {"apply_name": "apply_hr", "ddl_handler": "on_ddl", "precommit_handler": "at_end"}}
    client = ApplyClient(target, (alter,), {"on_ddl": on_ddl, "at_end": at_end})
    client.run(transactions([t(1), ddl("ALTER TABLE", "hr.t", "ALTER TABLE hr.t ADD x int")]))
    assert seen == ["ALTER TABLE", (100, [(1,)])]
    assert ask(target, "SELECT y FROM hr.t") == [(None,)]


@pytest.mark.req("ST-X-38")
def test_a_function_that_is_not_listed_stops_the_client_before_any_message(target: str) -> None:
    for calls in ((DML, TRANSFORMED), (HANDLER,)):
        with pytest.raises(RuleError) as raised:
            ApplyClient(target, calls).run(transactions([t(1)]))
        assert raised.value.code == "RUL-134"
        assert rows(target) == []


MESSAGES = {
    "message_types": {"hr.m": {"n": "number"}},
}
TAKES_MESSAGES = {
    "add_message_rule": {
        "message_type": "hr.m", "rule_condition": ":msg.n = 1", "streams_type": "apply", "streams_name": "apply_hr",
        "queue_name": "q", "rule_name": "m_rule",
    }
}  # fmt: skip


def messages() -> list[Any]:
    return [UserMessage("hr.m", {"n": 1}), UserMessage("hr.m", {"n": 2}), UserMessage("hr.n", {"n": 1})]


@pytest.mark.req("ST-M-04", "ST-M-13")
def test_messages_go_to_the_message_handler(target: str) -> None:
    found = []
    alter = {"alter_apply": {"apply_name": "apply_hr", "message_handler": "handler"}}
    given = {"handler": lambda message, apply: found.append(message)}
    client = ApplyClient(target, (TAKES_MESSAGES, alter), given, MESSAGES)
    done = client.run(transactions(messages()))
    assert (found, dict(done.kinds)) == (messages()[:1], {"messages": 1})


@pytest.mark.req("ST-M-05")
def test_messages_that_a_negative_rule_is_true_for_are_gone(target: str) -> None:
    found = []
    alter = {"alter_apply": {"apply_name": "apply_hr", "message_handler": "handler"}}
    negative = {"add_message_rule": {**TAKES_MESSAGES["add_message_rule"], "inclusion_rule": False}}
    given = {"handler": lambda message, apply: found.append(message)}
    client = ApplyClient(target, (negative, alter), given, MESSAGES)
    client.run(transactions(messages()))
    assert (found, client.position) == (messages()[1:], 101)


def test_a_message_without_a_handler_is_an_error(target: str) -> None:
    client = ApplyClient(target, (TAKES_MESSAGES, GOES_ON), {}, MESSAGES)
    client.run(transactions(messages()))
    assert client.waiting == [(1, "APL-108", 0)]


def test_rules_send_messages_elsewhere_and_let_them_not_be_applied(target: str) -> None:
    enqueued = {"set_enqueue_destination": {"rule_name": "dml_t", "destination_queue_name": "q2"}}
    not_applied = {"set_execute": {"rule_name": "dml_t", "execute": False}}
    nowhere = ApplyClient(target, (DML, enqueued, GOES_ON))
    nowhere.run(transactions([t(2)]))
    assert nowhere.waiting == [(1, "APL-109", None)], "no channel captures there: the message would be lost"
    with psycopg.connect(target, autocommit=True) as connection:
        helper_schema.install(connection, DdlCapture.RELATIONS)
    slot = "SELECT pg_create_logical_replication_slot('apply_test', 'test_decoding')"
    run(target, slot)
    try:
        ApplyClient(target, (DML, enqueued, not_applied)).run(transactions([t(1)], start=200))
        log = ask(target, "SELECT data FROM pg_logical_slot_get_changes('apply_test', NULL, NULL)")
    finally:
        run(target, "SELECT pg_drop_replication_slot('apply_test')")
    assert rows(target) == []
    assert any("ddlrepl.message" in line and r"\"object\":" in line for (line,) in log), log


def test_what_people_see_of_an_error(target: str) -> None:
    run(target, "INSERT INTO hr.t VALUES (1, 0, 'theirs')")
    client = ApplyClient(target, (GOES_ON,))
    client.run(transactions([t(1, "ours"), ddl("ALTER TABLE", "hr.t", "ALTER TABLE hr.t ADD x int")]))
    with client.target() as there:
        [error] = there.errors()
        line = listed("site2", error)
        assert (line["id"], line["code"]) == (f"site2/{error.number}", "23505")
        found = shown("site2", there, error.number)
        assert found.messages[0]["target"] == [{"id": "1", "k": "0", "note": "theirs"}]
        assert "0: INSERT hr.t  <-- failed" in found.text()
        assert "ALTER TABLE hr.t ADD x int" in found.text()
        queued = {"site2": [error], "site3": [error]}
        assert chosen(queued, f"site3/{error.number}") == ("site3", error)
        for unclear in (str(error.number), "site4/1", "x"):
            with pytest.raises(ApplyError) as raised:
                chosen(queued, unclear)
            assert raised.value.code == "APL-112"
