"""A propagation transforms what it passes on; what it can't transform stays in its source queue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.flow.streams.propagation import propagate
from tests.flow.streams import functions
from tests.flow.streams.streams_channel import StreamsChannel, streams_channel
from tests.flow.streams.transformations.test_capture_transformations import OF_CAPTURE, begun, called, listed
from tests.support.crashing import die

RENAMED = {"rename_column": {"rule_name": "r", "table_name": "hr.t", "from_column_name": "k", "to_column_name": "dept"}}
CAPTURE = {"add_global_rules": {**OF_CAPTURE, "dml_rule_name": "r"}}


def table_rules(queue: str, rule: str, table: str = "hr.t", **more: Any) -> dict[str, Any]:
    queues = {"source_queue_name": "q1", "destination_queue_name": queue, "streams_name": f"to_{queue}"}
    rules = {"table_name": table, "dml_rule_name": rule, "include_ddl": True, "ddl_rule_name": f"{rule}_ddl", **more}
    return {"add_table_propagation_rules": {**queues, **rules}}


@pytest.mark.req("ST-X-13", "ST-X-48", "ST-X-57", "ST-X-58", "ST-X-63", "ST-X-75", "ST-R-10", "ST-R-19")
def test_each_propagation_transforms_what_the_capture_has_transformed(databases: Any, tmp_path: Path) -> None:
    calls = (
        CAPTURE, RENAMED,
        table_rules("q2", "r2"), called("r2", "counted"), called("r2_ddl", "to_pub"),
        table_rules("q3", "r3"), called("r3", "counted"),
        table_rules("q4", "r4"),
        {"keep_columns": {"rule_name": "r4", "table_name": "hr.t", "column_list": ["id"]}},
    )  # fmt: skip
    channel = begun(streams_channel(tmp_path, databases.source, *calls, functions=listed("counted", "to_pub")))
    channel.at_source(
        f"INSERT INTO hr.t VALUES (1, 50, 'one'), (2, 60, '{'long ' * 1000}')",
        "ALTER TABLE hr.t ADD x int",
        "INSERT INTO hr.u VALUES (1, 1)",
        "ALTER TABLE hr.t ALTER k SET NOT NULL",
    )
    channel.stage(flow.capture)
    functions.CALLS.clear()
    die("propagate", channel.file, "propagate.files")  # everything is transformed, and nothing is passed on
    assert len(channel.content("q1")) == 5 and channel.content("q2") == []
    result = channel.stage(propagate)
    assert functions.CALLS == {"INSERT hr.t": 4}
    (told,) = {why: count for why, count in result.discarded.items() if "hr.u" in why and "to_q2" in why}.values()
    assert told == 1
    one, two, *ddl = channel.content("q2")
    assert one == "INSERT hr.t {'id': '1', 'dept': '50', 'note': 'ONE'}" and two.endswith("LONG LONG '}")
    assert ddl == ["ALTER TABLE pub.t ADD x int", "ALTER TABLE pub.t ALTER dept SET NOT NULL"]
    assert channel.content("q3")[2:] == ["ALTER TABLE hr.t ADD x int", "ALTER TABLE hr.t ALTER dept SET NOT NULL"]
    assert channel.content("q4") == ["INSERT hr.t {'id': 1}", "INSERT hr.t {'id': 2}"]
    assert len(channel.bytes_of("q4")) < len(channel.bytes_of("q3"))


def stays(channel: StreamsChannel, code: str) -> None:
    with channel.opened() as context:
        with pytest.raises(RuleError) as error:
            flow.propagate(context)
        assert error.value.code == code
        assert f"propagation to_q2 is disabled: {code}" in flow.status(context).text()
    assert len(channel.content("q1")) == 2 and channel.content("q2") == ["INSERT hr.t {'id': 1, 'k': 1, 'note': 'one'}"]


@pytest.mark.req("ST-Y-09", "ST-Y-10", "ST-Y-18")
def test_what_can_not_be_transformed_stays_until_its_transformation_is_changed(databases: Any, tmp_path: Path) -> None:
    rules = [{"add_global_rules": OF_CAPTURE}, table_rules("q2", "r2")]
    channel = begun(streams_channel(tmp_path, databases.source, *rules, functions=listed("raises")))
    channel.at_source("INSERT INTO hr.t VALUES (1, 1, 'one')")
    channel.stage(flow.capture)
    channel.stage(propagate)
    channel.at_source("INSERT INTO hr.t VALUES (2, 2, 'two')")
    channel.stage(flow.capture)
    added = {"add_column": {"rule_name": "r2", "table_name": "hr.t", "column_name": "k", "column_value": 1}}
    for wrong, code in ((added, "RUL-122"), (called("r2", "raises"), "RUL-137")):
        channel.change(calls=[*rules, wrong])
        for _ in range(2):
            stays(channel, code)
    channel.change(calls=rules)
    for _ in range(2):
        channel.stage(propagate)
        assert channel.content("q2") == channel.content("q1")


@pytest.mark.req("ST-X-79")
def test_of_several_rules_with_transformations_the_first_one_counts(databases: Any, tmp_path: Path) -> None:
    calls = [
        {"add_global_rules": OF_CAPTURE},
        table_rules("q2", "r2"), called("r2", "counted"),
        table_rules("q2", "r3", and_condition=":lcr.get_command_type() = 'INSERT'"), called("r3", "split"),
    ]  # fmt: skip
    channel = begun(streams_channel(tmp_path, databases.source, *calls, functions=listed("counted", "split")))
    channel.at_source("INSERT INTO hr.t VALUES (1, 1, 'Ann Lee')")
    channel.stage(flow.capture)
    channel.stage(propagate)
    assert channel.content("q2") == ["INSERT hr.t {'id': '1', 'k': '1', 'note': 'ANN LEE'}"]
