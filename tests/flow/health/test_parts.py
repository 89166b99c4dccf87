"""In Airflow each propagation and each target of an apply process is a task: none of them hides another's failure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import ApplyError, ConfigError, RuleError, Unreachable
from airflow_ddlrepl.flow.health.channel import channel_health
from tests.flow.streams.streams_channel import BATTERY_TABLES, StreamsChannel, streams_channel
from tests.flow.streams.test_activation import ALL, apply, begun
from tests.support.replica import run

DOUBLE, RAISES = (f"tests.flow.streams.functions:{name}" for name in ("double", "raises"))


def passing(name: str, to: str) -> dict[str, Any]:
    queues = {"source_queue_name": "q1", "destination_queue_name": to, "source_database": "dbs1"}
    return {"add_global_propagation_rules": {"streams_name": name, "dml_rule_name": f"{name}_rule", **queues}}


def function_of(name: str) -> dict[str, Any]:
    return {"set_rule_transform_function": {"rule_name": f"{name}_rule", "transform_function": "f"}}


def health(channel: StreamsChannel) -> dict[str, Any]:
    return dict(channel.stage(lambda run: channel_health(run.repository, run.channel.name, run.source.clock())))


def troubled(channel: StreamsChannel) -> set[str]:
    """Names of clients in trouble, with the target of an apply process."""
    return {f"{one['name']} {one['target']}".strip() for one in health(channel)["clients"] if one["trouble"]}


BOTH = (passing("first", "q2"), function_of("first"), passing("second", "q3"), function_of("second"))


def two_propagations(databases: Any, tmp_path: Path) -> StreamsChannel:
    calls = (ALL, *BOTH[:3])
    channel = streams_channel(tmp_path, databases.source, *calls, functions={"f": RAISES})
    channel.at_source(*BATTERY_TABLES)
    channel.activate()
    channel.at_source("INSERT INTO hr.t VALUES (1, 1)")
    channel.stage(flow.capture)
    return channel


def test_a_propagation_that_fails_is_in_trouble_whatever_the_others_do(databases: Any, tmp_path: Path) -> None:
    channel = two_propagations(databases, tmp_path)
    with pytest.raises(RuleError):
        channel.stage(flow.propagate, "first")
    channel.stage(flow.propagate, "second")
    assert troubled(channel) == {"first"}
    since = [one["failing_since"] for one in health(channel)["failures"]]
    assert not flow.do_here(load_channel(channel.file), "propagate", "", "second")  # an idle one cures nothing either
    assert troubled(channel) == {"first"} and health(channel)["verdict"]["level"] == "bad"
    assert [one["failing_since"] for one in health(channel)["failures"]] == since
    assert flow.do_here(load_channel(channel.file), "propagate", "", "first")
    channel.change(functions={"f": DOUBLE})
    channel.stage(flow.propagate, "first")
    assert troubled(channel) == set()


def test_two_that_fail_are_both_in_trouble_until_each_works_again(databases: Any, tmp_path: Path) -> None:
    channel = two_propagations(databases, tmp_path)
    channel.change(calls=[ALL, *BOTH])
    for name in ("first", "second", "first"):
        with pytest.raises(RuleError):
            channel.stage(flow.propagate, name)
    assert troubled(channel) == {"first", "second"}
    channel.change(functions={"f": DOUBLE})
    channel.stage(flow.propagate, "second")
    assert troubled(channel) == {"first"}
    channel.change(calls=[ALL, *BOTH[2:]])
    channel.stage(flow.propagate, "second")
    assert health(channel)["failures"] == []  # the file has no propagation `first` any more


def test_a_whole_cycle_tells_of_every_client_that_fails(databases: Any, tmp_path: Path) -> None:
    channel = two_propagations(databases, tmp_path)
    channel.change(calls=[ALL, *BOTH])
    with pytest.raises(RuleError):
        channel.stage(flow.replicate)
    assert troubled(channel) == {"first", "second"}


def test_a_target_that_is_stopped_is_so_when_another_one_has_all(databases: Any, tmp_path: Path) -> None:
    away = {"name": "away", "location": "postgresql://nobody@127.0.0.1:1/nothing", "apply": "app"}
    channel = begun(databases, tmp_path, ALL, apply("q1"))
    channel.change(targets=[{"name": "site", "location": databases.target, "apply": "app"}, away])
    run(databases.target, "INSERT INTO hr.t VALUES (2, 9)")
    channel.at_source("INSERT INTO hr.t VALUES (2, 2)")
    channel.stage(flow.capture)
    with pytest.raises(ApplyError):
        channel.stage(flow.apply_queues, "site")
    assert flow.do_here(load_channel(channel.file), "apply", "", "away")
    with pytest.raises(Unreachable):
        channel.stage(flow.apply_queues, "away")
    assert troubled(channel) == {"app site", "app away"}


def test_a_name_that_the_channel_file_does_not_have_is_refused(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, ALL, apply("q1"))
    for call in (
        lambda: flow.do_here(load_channel(channel.file), "apply", "", "nonsense"),
        lambda: channel.stage(flow.apply_queues, "nonsense"),
    ):
        with pytest.raises(ConfigError, match="CFG-193: channel hr has no target nonsense") as caught:
            call()
        assert caught.value.hint == "it has site"
    with pytest.raises(RuleError, match="RUL-113"):
        flow.do_here(load_channel(channel.file), "propagate", "", "nonsense")


@pytest.mark.parametrize("stage", ["sync_capture", "propagate", "apply"])
def test_no_client_works_before_the_channel_is_active(databases: Any, tmp_path: Path, stage: str) -> None:
    """What triggers capture would wait at the source, and nobody would read it."""
    channel = two_propagations(databases, tmp_path)
    channel.stage(flow.deactivate)
    with pytest.raises(ConfigError, match="CFG-130"):
        flow.do_here(load_channel(channel.file), stage)
