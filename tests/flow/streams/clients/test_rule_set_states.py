"""Rule sets of propagations on a server: none, empty, several rules that disagree, one that serves many clients."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.streams.messages import RowLcr
from tests.flow.streams.messaging import channel as messages
from tests.flow.streams.messaging import put, row, take
from tests.flow.streams.messaging import rules as rules_for
from tests.flow.streams.streams_channel import BATTERY_TABLES, CAPTURE, StreamsChannel, streams_channel

Call = dict[str, dict[str, Any]]
K = ":dml.get_value('NEW','\"k\"').AccessNumber()"
RULES = {"one": f"{K} = 1", "two": f"{K} = 2", "many": f"{K} > 1", "never": f"{K} = 99"}
SETS = {"one_two": ("one", "two"), "over_one": ("many",), "never": ("never",), "empty": ()}
ROWS = "INSERT INTO hr.t (id, k) VALUES (1, 1), (2, 2), (3, 3), (4, NULL)"
PASSED: dict[str, tuple[tuple[str, ...], str, str, str]] = {
    "without": (("ST-R-23", "ST-R-26"), "", "", "1234"),
    "empty": (("ST-R-24",), "empty", "", ""),
    "empty_negative": (("ST-R-24",), "", "empty", "1234"),
    "any_positive": (("ST-R-15", "ST-R-28", "ST-R-05", "ST-R-06"), "one_two", "", "12"),
    "any_negative": (("ST-R-16", "ST-R-29", "ST-R-05", "ST-R-06"), "", "one_two", "34"),
    "none_negative": (("ST-R-31",), "one_two", "never", "12"),
    "both": (("ST-R-31", "ST-R-05"), "over_one", "one_two", "3"),
    "null_positive": (("ST-R-32",), "over_one", "", "23"),
    "null_negative": (("ST-R-32",), "", "over_one", "14"),
}
"""For each propagation: what it shows, its positive and negative rule sets, and the rows that it passes on."""


def rule_sets() -> Iterator[Call]:
    for name, condition in RULES.items():
        yield {"create_rule": {"rule_name": name, "condition": condition}}
    for name, rules in SETS.items():
        yield {"create_rule_set": {"rule_set_name": f"s_{name}"}}
        for rule in rules:
            yield {"add_rule": {"rule_name": rule, "rule_set_name": f"s_{name}"}}


def propagation(name: str, positive: str, negative: str) -> Call:
    sets = {"rule_set_name": positive, "negative_rule_set_name": negative}
    given = {key: f"s_{value}" for key, value in sets.items() if value}
    queues = {"source_queue": "q1", "destination_queue": f"to_{name}"}
    return {"create_propagation": {"propagation_name": f"p_{name}", **queues, **given}}


@pytest.fixture(scope="module")
def passed_on(pg18: PrivateServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StreamsChannel]:
    """Four rows have come into the queue of each propagation that takes them."""
    source = pg18.create_database("rule_sets_source")
    propagations = [propagation(name, positive, negative) for name, (_, positive, negative, _) in PASSED.items()]
    calls = [{"add_global_rules": CAPTURE}, *rule_sets(), *propagations]
    channel = streams_channel(tmp_path_factory.mktemp("rule_sets"), source, *calls, place={"slot": "rule_sets"})
    channel.at_source(*BATTERY_TABLES)
    channel.activate()
    channel.at_source(ROWS)
    channel.stage(flow.capture)
    channel.stage(flow.propagate)
    yield channel
    pg18.drop_database("rule_sets_source")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.req(*ids)) for name, (ids, *_) in PASSED.items()]
)
def test_what_a_propagation_passes_on(passed_on: StreamsChannel, name: str) -> None:
    found = re.findall(r"'id': (\d)", "".join(passed_on.content(f"to_{name}")))
    assert "".join(found) == PASSED[name][-1]


def kinds(queue: list[str]) -> list[str]:
    """What kinds of messages are in a queue, in order."""
    return [line.split()[0] for line in queue]


@pytest.mark.req("ST-S-49", "ST-S-10", "ST-S-11", "ST-A-06", "ST-S-78")
def test_one_global_rule_at_a_propagation_is_about_all_rows_or_about_all_ddl(databases: Any, tmp_path: Path) -> None:
    """In the positive rule set they pass, in the negative one not; a condition on the type of the object is of DDL."""

    def rules(to: str, *, rows: bool, ddl: bool, **more: Any) -> Call:
        queues = {"streams_name": f"p_{to}", "source_queue_name": "q1", "destination_queue_name": to}
        return {"add_global_propagation_rules": {**queues, "include_dml": rows, "include_ddl": ddl, **more}}

    without = {"inclusion_rule": False}
    calls = (
        {"add_global_rules": {**CAPTURE, "include_ddl": True}},
        rules("rows", rows=True, ddl=False),
        rules("ddl", rows=False, ddl=True),
        *(rules("no_rows", rows=True, ddl=True), rules("no_rows", rows=True, ddl=False, **without)),
        *(rules("no_ddl", rows=True, ddl=True), rules("no_ddl", rows=False, ddl=True, **without)),
        rules("indexes", rows=False, ddl=True, and_condition=":lcr.get_object_type() = 'INDEX'"),
        *(
            rules("no_tables", rows=True, ddl=True),
            rules("no_tables", rows=False, ddl=True, and_condition=":lcr.get_object_type() = 'TABLE'", **without),
        ),
    )
    channel = streams_channel(tmp_path, databases.source, *calls)
    channel.at_source(*BATTERY_TABLES)
    channel.activate()
    channel.at_source(
        "INSERT INTO hr.t VALUES (1)",
        "ALTER TABLE hr.t ADD added int",
        "UPDATE oe.o SET k = 1",
        "CREATE INDEX u_k ON hr.u (k)",
        "INSERT INTO oe.o VALUES (7)",
        "COMMENT ON TABLE hr.u IS 'all'",
        "TRUNCATE oe.o",
    )
    channel.stage(flow.capture)
    channel.stage(flow.propagate)
    rows, ddl = ["INSERT", "INSERT"], ["ALTER", "CREATE", "COMMENT", "truncate"]
    assert kinds(channel.content("rows")) == kinds(channel.content("no_ddl")) == rows
    assert kinds(channel.content("ddl")) == kinds(channel.content("no_rows")) == ddl
    assert channel.content("indexes") == ["CREATE INDEX u_k ON hr.u (k)"]
    assert kinds(channel.content("no_tables")) == ["INSERT", "CREATE", "INSERT"]


@pytest.mark.req("ST-R-44", "XR-05")
def test_each_row_of_a_statement_is_a_change_of_its_own(databases: Any, tmp_path: Path) -> None:
    """One UPDATE of three rows: a rule takes two of them, another one the third."""

    def rules(to: str, condition: str) -> Call:
        queues = {"streams_name": f"p_{to}", "source_queue_name": "q1", "destination_queue_name": to}
        condition = f":lcr.get_value('NEW','\"k\"').AccessNumber() {condition}"
        return {"add_table_propagation_rules": {"table_name": "hr.t", "and_condition": condition, **queues}}

    calls = ({"add_global_rules": CAPTURE}, rules("small", "< 3"), rules("large", ">= 3"))
    channel = streams_channel(tmp_path, databases.source, *calls)
    channel.at_source(*BATTERY_TABLES, "INSERT INTO hr.t VALUES (1), (2), (3)")
    channel.activate()
    channel.at_source("UPDATE hr.t SET k = id")
    channel.stage(flow.capture)
    counted = channel.stage(flow.propagate).discarded
    assert sorted(counted.items()) == [
        ("hr.t: no rule of propagation p_large takes them", 2),
        ("hr.t: no rule of propagation p_small takes them", 1),
    ]
    assert kinds(channel.content("q1")) == ["UPDATE"] * 3
    ids = [re.findall(r"'id': (\d)", "".join(channel.content(queue))) for queue in ("small", "large")]
    assert ids == [["1", "2"], ["3"]]


@pytest.mark.req("ST-R-32")
def test_a_messaging_client_takes_no_row_of_which_its_rule_is_not_known_to_be_true(
    databases: Any, tmp_path: Path
) -> None:
    over_one = ":lcr.get_value('NEW','\"k\"').AccessNumber() > 1"
    hr = messages(tmp_path, databases.source, rules_for("table", "over_one", and_condition=over_one, include_ddl=False))
    put(hr, *({**row("hr.t", 1), "new": {"id": number, "k": k}} for number, k in enumerate((1, 2, None))))
    assert [one.new["id"] for one in take(hr, "over_one").messages if isinstance(one, RowLcr)] == [1]
