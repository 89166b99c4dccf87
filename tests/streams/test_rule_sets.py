"""Rule sets of clients: which messages they take, and which rule sets they may have."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.messages import Message, MessageClass, UserMessage
from airflow_ddlrepl.streams.rules.client import Client, ClientKind
from airflow_ddlrepl.streams.rules.decide import Reason
from airflow_ddlrepl.streams.rules.possible import PossibleChanges
from airflow_ddlrepl.streams.rules.rule import RuleSet, make_rule
from tests.streams.making import DBS1, client, ddl, made, row, taken, verdict

MESSAGES = {name: row(f"hr.{name}") for name in "abcd"}


def rule_set(name: str, *tables: str) -> RuleSet:
    found = RuleSet(name)
    for table in tables:
        found.add(make_rule(f"{name}_{table}", f":dml.get_object_name() = '{table.upper()}'"))
    return found


def apply(positive: RuleSet | None, negative: RuleSet | None) -> Client:
    return Client("c", ClientKind.APPLY, positive, negative)


WANTED = {
    ("none", "none"): ("abcd", "ST-R-33"),
    ("none", "rules"): ("ab", "ST-R-34"),
    ("rules", "none"): ("ac", "ST-R-35"),
    ("rules", "rules"): ("a", "ST-R-36"),
    ("empty", "none"): ("abcd", "ST-R-37"),
    ("empty", "rules"): ("ab", "ST-R-38"),
    ("none", "empty"): ("", "ST-R-39"),
    ("empty", "empty"): ("", "ST-R-40"),
    ("rules", "empty"): ("", "ST-R-41"),
}


@pytest.mark.parametrize(
    ("negative", "positive", "wanted"),
    [pytest.param(*key, found, marks=pytest.mark.req(id)) for key, (found, id) in WANTED.items()],
)
def test_nine_combinations_of_rule_sets(negative: str, positive: str, wanted: str) -> None:
    sets: dict[str, dict[str, tuple[str, ...]]] = {
        "rules": {"n": ("b", "d"), "p": ("a", "b")},
        "empty": {"n": (), "p": ()},
    }
    found = apply(
        rule_set("p", *sets[positive]["p"]) if positive in sets else None,
        rule_set("n", *sets[negative]["n"]) if negative in sets else None,
    )
    assert "".join(name for name in MESSAGES if verdict(found, MESSAGES[name]).is_taken) == wanted


def two_rules(first: bool, second: bool) -> RuleSet:
    """Two rules, which are true for hr.a or not."""
    rules = RuleSet("r")
    for number, is_true in enumerate((first, second)):
        rules.add(make_rule(f"r{number}", f":dml.get_object_name() = '{'A' if is_true else 'X'}'"))
    return rules


@pytest.mark.req("ST-R-28", "ST-R-29", "ST-R-31")
@pytest.mark.parametrize(("first", "second"), list(product((True, False), repeat=2)))
def test_one_true_rule_suffices(first: bool, second: bool) -> None:
    rules = two_rules(first, second)
    assert verdict(apply(rules, None), MESSAGES["a"]).is_taken == (first or second)
    assert verdict(apply(None, rules), MESSAGES["a"]).is_taken == (not (first or second))
    assert verdict(apply(rules, two_rules(False, False)), MESSAGES["a"]).is_taken == (first or second)


@pytest.mark.req("ST-R-15", "ST-R-16")
def test_conflicting_rules() -> None:
    """G-17: of two rules about a table one is true and one is false."""
    rules = RuleSet("r")
    rules.add(make_rule("yes", ":dml.get_object_name() = 'EMPLOYEES'"))
    rules.add(make_rule("no", "NOT (:dml.get_object_name() = 'EMPLOYEES')"))
    assert verdict(apply(rules, None), row("hr.employees")).is_taken
    assert not verdict(apply(None, rules), row("hr.employees")).is_taken


@pytest.mark.req("ST-R-30", "ST-R-26")
def test_the_negative_rule_set_is_evaluated_first() -> None:
    both = apply(rule_set("p", "a", "b"), rule_set("n", "b", "d"))
    found = verdict(both, MESSAGES["b"])
    assert (found.reason, found.evaluated) == (Reason.NEGATIVE, (1, 0))
    assert verdict(both, MESSAGES["a"]).evaluated == (0, 1)  # the others are about other tables
    assert verdict(apply(None, None), MESSAGES["a"]).evaluated == (0, 0)


@pytest.mark.req("ST-R-32")
def test_an_unknown_condition_is_not_true() -> None:
    rules = RuleSet("r")
    rules.add(make_rule("r", ":dml.get_value('NEW','\"C\"').AccessNumber() = 1"))
    null = row("hr.a", new={"C": None})
    assert not verdict(apply(rules, None), null).is_taken
    assert verdict(apply(None, rules), null).is_taken


@pytest.mark.req("ST-R-05", "ST-R-06")
def test_clients_share_a_rule_set() -> None:
    shared = rule_set("s", "a")
    first, second = Client("x", ClientKind.CAPTURE, shared), Client("y", ClientKind.APPLY, None, shared)
    assert (taken(first, MESSAGES.values()), taken(second, MESSAGES.values())) == (
        [True, False, False, False],
        [False, True, True, True],
    )
    shared.add(make_rule("more", ":dml.get_object_name() = 'B'"))
    assert (taken(first, MESSAGES.values()), taken(second, MESSAGES.values())) == (
        [True, True, False, False],
        [False, False, True, True],
    )


@pytest.mark.req("ST-R-27", "ST-R-03", "ST-R-04")
def test_rule_sets_of_a_synchronous_capture() -> None:
    with pytest.raises(RuleError, match="can't have a negative rule set") as found:
        Client("s", ClientKind.SYNC_CAPTURE, rule_set("p", "a"), rule_set("n", "b"))
    assert found.value.code == "RUL-110"
    with pytest.raises(RuleError, match="has no positive rule set"):
        Client("s", ClientKind.SYNC_CAPTURE).require_ready()
    one = Client("s", ClientKind.SYNC_CAPTURE, rule_set("p", "a"))
    one.require_ready()
    other = rule_set("p2", "b")
    one.attach(other, is_positive=True)
    assert one.positive is other


@pytest.mark.req("ST-R-13", "ST-R-14", "ST-R-21")
@pytest.mark.parametrize(
    ("kind", "takes"),
    [
        ("capture", {("row", "captured"), ("row", "persistent"), ("row", "buffered"), ("ddl", "captured")}),
        ("sync_capture", {("row", "captured"), ("row", "persistent"), ("row", "buffered")}),
        (
            "propagation",
            {(kind, str(one)) for kind in ("row", "message") for one in MessageClass} - {("message", "captured")}
            | {("ddl", "captured")},
        ),
        ("apply", {("row", "captured"), ("row", "persistent"), ("ddl", "captured"), ("message", "persistent")}),
        ("dequeue", {("row", "persistent"), ("message", "persistent")}),
    ],
)
def test_which_messages_a_kind_of_client_can_have(kind: str, takes: set[tuple[str, str]]) -> None:
    of = Client("c", ClientKind(kind), None)
    rows: dict[tuple[str, str], Message] = {("row", str(one)): row("hr.a", message_class=one) for one in MessageClass}
    messages: dict[tuple[str, str], Message] = {
        **rows,
        ("ddl", "captured"): ddl("hr.a"),
        ("message", "persistent"): UserMessage("O.M"),
        ("message", "buffered"): UserMessage("O.M", message_class=MessageClass.BUFFERED),
    }
    assert {name for name, one in messages.items() if verdict(of, one).is_taken} == takes
    refused = [verdict(of, one) for name, one in messages.items() if name not in takes]
    assert all(one.reason is Reason.NOT_FOR_CLIENT and one.why for one in refused)


@pytest.mark.req("ST-R-01", "ST-R-02", "ST-R-22", "ST-R-23")
@pytest.mark.parametrize("kind", ClientKind)
def test_the_rule_sets_of_each_kind_of_client(kind: ClientKind) -> None:
    """None, one of each, or both; another one takes the place of the one that is there."""
    assert set(ClientKind) == {"capture", "sync_capture", "propagation", "apply", "dequeue"}
    lcr = row("hr.a", message_class=MessageClass.PERSISTENT)
    assert verdict(Client("c", kind), lcr).is_taken
    one = Client("c", kind, rule_set("p", "a"))
    assert verdict(one, lcr).is_taken
    one.attach(rule_set("p2", "b"), is_positive=True)
    assert not verdict(one, lcr).is_taken
    if kind is not ClientKind.SYNC_CAPTURE:
        one = Client("c", kind, rule_set("p", "a"), rule_set("n", "b"))
        assert verdict(one, lcr).is_taken
        one.attach(rule_set("n2", "a"), is_positive=False)
        assert not verdict(one, lcr).is_taken
        one.attach(rule_set("p2", "a"), is_positive=True)
        assert not verdict(one, lcr).is_taken
        assert not verdict(Client("c", kind, None, rule_set("n", "a")), lcr).is_taken
        assert verdict(Client("c", kind, None, rule_set("n", "b")), lcr).is_taken


@pytest.mark.req("ST-N-05", "ST-N-06", "ST-R-24")
def test_clients_and_rule_sets_by_hand() -> None:
    sets = [{"create_rule_set": {"rule_set_name": name}} for name in ("strmadmin.p", "n", "empty")]
    rules = [
        {"create_rule": {"rule_name": name, "condition": f":dml.get_object_name() = '{name.upper()}'"}} for name in "ab"
    ]
    put = [
        {"add_rule": {"rule_name": "a", "rule_set_name": "p"}},
        {"add_rule": {"rule_name": "b", "rule_set_name": "p"}},
        {"add_rule": {"rule_name": "b", "rule_set_name": "n"}},
    ]
    new = {
        "create_capture": {"queue_name": "q", "capture_name": "c", "rule_set_name": "p", "negative_rule_set_name": "n"}
    }
    calls = [*sets, *rules, *put, new]
    assert taken(client(made(*calls), "capture", "c"), MESSAGES.values()) == [True, False, False, False]
    without = {"alter_capture": {"capture_name": "c", "remove_negative_rule_set": True}}
    assert taken(client(made(*calls, without), "capture", "c"), MESSAGES.values()) == [True, True, False, False]
    empty = {"alter_capture": {"capture_name": "c", "rule_set_name": "empty"}}
    assert taken(client(made(*calls, empty), "capture", "c"), MESSAGES.values()) == [False] * 4
    none = {"alter_capture": {"capture_name": "c", "remove_rule_set": True}}
    assert taken(client(made(*calls, none), "capture", "c"), MESSAGES.values()) == [True, False, True, True]
    altered = {"alter_rule": {"rule_name": "a", "condition": ":dml.get_object_name() = 'D'"}}
    assert taken(client(made(*calls, altered), "capture", "c"), MESSAGES.values()) == [False, False, False, True]
    removed = {"remove_rule": {"rule_name": "a", "rule_set_name": "p"}}
    assert taken(client(made(*calls, removed), "capture", "c"), MESSAGES.values()) == [False] * 4
    gone = {"remove_client_rule": {"rule_name": "b", "streams_type": "capture", "streams_name": "c"}}
    found = made(*calls, gone)
    assert ("B" in found.rules, taken(client(found, "capture", "c"), MESSAGES.values())) == (True, [True] + [False] * 3)


QUEUES = {"source_queue": "q", "destination_queue": "q2"}


@pytest.mark.req("ST-N-05", "ST-N-06", "ST-R-24")
@pytest.mark.parametrize(
    ("kind", "created", "alter"),
    [
        ("apply", {"create_apply": {"apply_name": "c", "queue_name": "q"}}, "alter_apply"),
        ("propagation", {"create_propagation": {"propagation_name": "c", **QUEUES}}, "alter_propagation"),
    ],
)
def test_other_clients_get_rule_sets_when_they_are_made_and_later(
    kind: str, created: dict[str, Any], alter: str
) -> None:
    ((procedure, parameters),) = created.items()
    sets = [
        {"create_rule_set": {"rule_set_name": "p"}},
        {"create_rule_set": {"rule_set_name": "n"}},
        {"create_rule": {"rule_name": "a", "condition": ":dml.get_object_name() = 'A'"}},
        *({"add_rule": {"rule_name": "a", "rule_set_name": name}} for name in "pn"),
    ]
    key = f"{kind}_name"

    def found(*calls: dict[str, Any]) -> list[bool]:
        return taken(client(made(*sets, *calls), kind, "c"), MESSAGES.values())

    only_a, all_but_a = [True, False, False, False], [False, True, True, True]
    assert found({procedure: {**parameters, "rule_set_name": "p"}}) == only_a
    assert found({procedure: {**parameters, "negative_rule_set_name": "n"}}) == all_but_a
    assert found(created, {alter: {key: "c", "rule_set_name": "p"}}) == only_a
    assert found(created, {alter: {key: "c", "negative_rule_set_name": "n"}}) == all_but_a
    with_both = {procedure: {**parameters, "rule_set_name": "p", "negative_rule_set_name": "n"}}
    assert found(with_both) == [False] * 4
    assert found(with_both, {alter: {key: "c", "remove_negative_rule_set": True}}) == only_a
    assert found(with_both, {alter: {key: "c", "remove_rule_set": True}}) == all_but_a


def test_a_synchronous_capture_is_made_with_its_positive_rule_set() -> None:
    sets = [
        {"create_rule_set": {"rule_set_name": "p"}},
        {"create_rule": {"rule_name": "a", "condition": ":dml.get_object_name() = 'A'"}},
        {"add_rule": {"rule_name": "a", "rule_set_name": "p"}},
    ]
    of = client(
        made(*sets, {"create_sync_capture": {"capture_name": "s", "queue_name": "q", "rule_set_name": "p"}}),
        "sync_capture",
        "s",
    )
    of.require_ready()
    assert taken(of, MESSAGES.values()) == [True, False, False, False]


@pytest.mark.req("ST-R-25")
def test_a_capture_process_without_rule_sets_is_warned_of() -> None:
    found = made({"create_capture": {"queue_name": "q", "capture_name": "c"}})
    assert found.warnings == ["capture process C has no rule set: it captures unsupported objects, too"]


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ({"add_rule": {"rule_name": "aa", "rule_set_name": "p"}}, "there is no rule aa"),
        ({"add_rule": {"rule_name": "a", "rule_set_name": "x"}}, "there is no rule set x"),
        ({"create_rule": {"rule_name": "a", "condition": "1=1"}}, "there is a rule A already"),
        ({"create_rule_set": {"rule_set_name": "p"}}, "there is a rule set P already"),
        ({"drop_rule": {"rule_name": "a"}}, "rule A is in rule set P"),
        ({"alter_apply": {"apply_name": "c"}}, "there is no apply process c"),
        ({"create_rule_set": {"rule_set_name": "a b"}}, "'a b' is no name"),
    ],
)
def test_names_that_are_not_there_or_are_taken(call: dict[str, dict[str, str]], why: str) -> None:
    calls = [
        {"create_rule_set": {"rule_set_name": "p"}},
        {"create_rule": {"rule_name": "a", "condition": "1=1"}},
        {"add_rule": {"rule_name": "a", "rule_set_name": "p"}},
    ]
    with pytest.raises(RuleError, match=why) as found:
        made(*calls, call)
    assert found.value.code == "RUL-113"


def test_an_evaluation_context_of_ones_own_is_refused() -> None:
    with pytest.raises(RuleError, match="the evaluation context own is not known") as found:
        made({"create_rule": {"rule_name": "r", "condition": "1=1", "evaluation_context": "own"}})
    assert found.value.code == "RUL-104"
    made({"create_rule_set": {"rule_set_name": "p", "evaluation_context": "sys.streams$_evaluation_context"}})


TAG = ":dml.get_tag() {} HEXTORAW('1D')"


@pytest.mark.parametrize(
    ("positive", "negative", "wanted"),
    [
        (TAG.format("="), "", True),
        (TAG.format("<>"), "", True),
        (TAG.format("<"), "", True),
        (TAG.format("="), TAG.format("="), False),
        (TAG.format(">"), TAG.format("<>"), False),
        ("", TAG.format("<>"), True),
        (":dml.is_null_tag() = 'N'", TAG.format("<>"), True),
        (":dml.is_null_tag() = 'N'", ":dml.is_null_tag() = 'N'", False),
    ],
)
def test_whether_a_change_with_some_tag_may_be_taken(positive: str, negative: str, wanted: bool) -> None:
    """A capture may take a table's changes where there is a tag with which its rules let one through."""
    found = apply(*(_one_rule(text) if text else None for text in (positive, negative)))
    assert PossibleChanges(found, DBS1).takes("HR", "T") is wanted


def _one_rule(condition: str) -> RuleSet:
    found = RuleSet("s")
    found.add(make_rule("r", condition))
    return found
