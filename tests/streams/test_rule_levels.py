"""Rules for tables, schemas and everything, at each kind of client."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.calls.rule_procedures import AddGlobalRules
from airflow_ddlrepl.streams.messages import Message
from airflow_ddlrepl.streams.procedures.run import run
from airflow_ddlrepl.streams.rules.rule import Rule
from tests.streams.making import battery, class_for, client, ddl, made, row, taken, taken_names

SOURCE = "dbs1.example.com"
LEVELS: dict[str, dict[str, Any]] = {
    "global": {},
    "schema": {"schema_name": "hr"},
    "table": {"table_name": "hr.t"},
}
TRUE_FOR = {
    ("global", True): {"B1", "B2", "B3", "B7"},
    ("global", False): {"B4", "B5", "B6", "B8"},
    ("schema", True): {"B1", "B2", "B3"},
    ("schema", False): {"B4", "B5", "B6"},
    ("table", True): {"B1", "B2"},
    ("table", False): {"B4"},
}


def rules_for(kind: str, level: str, **more: Any) -> dict[str, dict[str, Any]]:
    """The call that makes rules of a level for a client named c."""
    if kind == "propagation":
        place = {"streams_name": "c", "source_queue_name": "q", "destination_queue_name": "q2"}
        return {f"add_{level}_propagation_rules": {**LEVELS[level], **place, **more}}
    place = {"streams_type": kind, "streams_name": "c", "queue_name": "q"}
    if kind == "apply" and level == "global":
        place["source_database"] = SOURCE
    return {f"add_{level}_rules": {**LEVELS[level], **place, **more}}


SHOWN: dict[str, dict[str, tuple[int, ...]]] = {
    "capture": {"global": (1, 2, 48), "schema": (3, 4, 68), "table": (5, 6, 81)},
    "propagation": {"global": (10, 11, 49), "schema": (12, 13, 69), "table": (14, 15, 83)},
    "apply": {"global": (18, 19, 50), "schema": (20, 21, 70), "table": (22, 23, 84)},
    "dequeue": {"global": (26, 27), "schema": (28, 29), "table": (30, 31)},
}


def cells() -> list[Any]:
    found = []
    for kind, levels in SHOWN.items():
        for level, numbers in levels.items():
            ids = [f"ST-S-{number:02}" for number in numbers]
            found.append(pytest.param(kind, level, marks=pytest.mark.req(*ids), id=f"{kind}-{level}"))
    return found


@pytest.mark.parametrize(("kind", "level"), cells())
def test_rules_of_each_level_for_each_kind_of_client(kind: str, level: str) -> None:
    """Of the battery: what a positive rule takes, and what a negative one discards."""
    messages = {name: one for name, one in battery(class_for(kind)).items() if name not in ("B9", "B10", "B11")}
    for is_dml in (True, False):
        flags = {"include_dml": is_dml, "include_ddl": not is_dml}
        positive = client(made(rules_for(kind, level, **flags)), kind, "c")
        assert taken_names(positive, messages) == TRUE_FOR[level, is_dml]
        negative = client(made(rules_for(kind, level, **flags, inclusion_rule=False)), kind, "c")
        assert negative.positive is None
        assert taken_names(negative, messages) == set(messages) - TRUE_FOR[level, is_dml]


@pytest.mark.req("ST-S-50", "ST-S-34")
def test_a_rule_with_a_source_database() -> None:
    apply = client(made(rules_for("apply", "global")), "apply", "c")
    others = [row("hr.t"), row("hr.t", source_database="DBS2.EXAMPLE.COM")]
    assert taken(apply, others) == [True, False]


@pytest.mark.parametrize("kind", ["capture", "propagation", "apply", "dequeue"])
def test_changes_with_a_tag_are_left_out_unless_they_are_wanted(kind: str) -> None:
    changes = [row("hr.t", tag=tag, message_class=class_for(kind)) for tag in (None, b"\1")]
    assert taken(client(made(rules_for(kind, "table")), kind, "c"), changes) == [True, False]
    assert taken(client(made(rules_for(kind, "table", include_tagged_lcr=True)), kind, "c"), changes) == [True, True]


@pytest.mark.req("ST-S-39", "ST-S-37", "ST-S-47", "ST-S-67", "ST-S-80", "ST-R-43")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("flags", [(False, False), (True, False), (False, True), (True, True)])
def test_none_one_or_two_rules(level: str, flags: tuple[bool, bool]) -> None:
    found = made(rules_for("dequeue", level, include_dml=flags[0], include_ddl=flags[1]))
    positive = client(found, "dequeue", "c").positive
    assert positive is not None and len(positive.rules) == len(found.rules) == sum(flags)
    assert all(len(rule.variables) == 1 for rule in found.rules.values())
    assert bool([text for text in found.warnings if "discards every message" in text]) == (not any(flags))


@pytest.mark.req("ST-S-40")
def test_a_rule_for_ddl_leaves_the_one_for_rows_as_it_is() -> None:
    calls = [rules_for("apply", "table", include_dml=dml, include_ddl=not dml) for dml in (True, False)]
    first, both = made(calls[0]), made(*calls)
    (before,) = first.rules.values()
    after: Rule = next(iter(both.rules.values()))
    assert (before.name, before.text, len(both.rules)) == (after.name, after.text, 2)
    changes: list[Message] = [row("hr.t"), ddl("hr.t")]
    assert taken(client(first, "apply", "c"), changes) == [True, False]
    assert taken(client(both, "apply", "c"), changes) == taken(client(made(*calls[::-1]), "apply", "c"), changes)
    assert taken(client(both, "apply", "c"), changes) == [True, True]


@pytest.mark.req("ST-S-35", "ST-S-36", "ST-N-03", "ST-N-04")
def test_clients_and_rule_sets_are_made_when_they_are_not_there() -> None:
    more = {"include_tagged_lcr": True, "inclusion_rule": False}
    other = {"add_table_rules": {**rules_for("apply", "table")["add_table_rules"], **more, "table_name": "hr.u"}}
    found = made(rules_for("apply", "table"), rules_for("apply", "table", **more), other)
    apply = client(found, "apply", "c")
    assert len(found.clients) == 1 and len(found.rule_sets) == 2
    assert apply.positive is not None and len(apply.positive.rules) == 1
    assert apply.negative is not None and len(apply.negative.rules) == 2


@pytest.mark.req("ST-S-53")
def test_who_has_to_name_a_source_database() -> None:
    made(rules_for("capture", "global"))
    downstream = {"create_capture": {"queue_name": "q", "capture_name": "c", "source_database": "dbs1"}}
    for calls in ([rules_for("apply", "global", source_database=None)], [downstream, rules_for("capture", "global")]):
        with pytest.raises(RuleError, match="names no source database") as found:
            made(*calls)
        assert found.value.code == "RUL-112"
    environment = made()
    with pytest.raises(RuleError, match="for apply process c names no"):
        run(AddGlobalRules(streams_type="apply", streams_name="c"), environment)  # type: ignore[arg-type]
    assert (environment.clients, environment.rule_sets, environment.rules) == ({}, {}, {})


@pytest.mark.req("ST-S-45")
def test_a_propagation_without_a_source_database_is_warned_of() -> None:
    assert any("could cycle" in text for text in made(rules_for("propagation", "schema")).warnings)
    assert made(rules_for("propagation", "schema", source_database=SOURCE)).warnings == []


@pytest.mark.req("ST-N-12")
def test_a_negative_rule_for_untagged_changes_draws_a_hint() -> None:
    assert any(
        "escape the exclusion" in text for text in made(rules_for("apply", "table", inclusion_rule=False)).warnings
    )
    assert made(rules_for("apply", "table", inclusion_rule=False, include_tagged_lcr=True)).warnings == []


@pytest.mark.req("ST-T-08", "ST-T-09", "ST-S-82", "ST-N-02", "ST-R-04")
@pytest.mark.parametrize(
    ("level", "more", "why"),
    [
        ("schema", {}, "no schema and no global rules"),
        ("global", {}, "no schema and no global rules"),
        ("table", {"include_ddl": True}, "row changes alone"),
        ("table", {"inclusion_rule": False}, "positive rule set alone"),
    ],
)
def test_what_a_synchronous_capture_can_not_have(level: str, more: dict[str, Any], why: str) -> None:
    with pytest.raises(RuleError, match=why) as found:
        made(rules_for("sync_capture", level, **more))
    assert found.value.code == "RUL-110"
