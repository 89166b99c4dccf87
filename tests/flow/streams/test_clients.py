"""Which clients a channel file makes, and what can't be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import ConfigError, DdlReplError
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.streams.rules.client import ClientKind
from tests.flow.streams.streams_channel import streams_channel
from tests.support.replica import channel_file

NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"


def capture(name: str = "cap", queue: str = "q1") -> dict[str, Any]:
    return {"add_global_rules": {"streams_type": "capture", "streams_name": name, "queue_name": queue}}


def propagation(source: str, destination: str) -> dict[str, Any]:
    queues = {"source_queue_name": source, "destination_queue_name": destination}
    return {"add_global_propagation_rules": {"streams_name": f"{source}_{destination}", **queues}}


APPLY = {
    "add_global_rules": {"streams_type": "apply", "streams_name": "app", "queue_name": "q2", "source_database": "dbs1"}
}


def test_feeds_of_queues_follow_the_propagations(tmp_path: Path) -> None:
    channel = streams_channel(
        tmp_path,
        NOWHERE,
        capture(),
        propagation("q1", "q2"),
        propagation("q2", "q$3"),
        queues={"q2": f"{tmp_path}/other"},
    )
    with channel.opened() as context:
        clients = StreamsClients(context)
        names = {queue: [feed.name for feed in clients.feeds(queue)] for queue in ("q1", "q2", "q$3", "q4")}
        folders = [feed.trail.place.root for queue in ("q2", "q$3") for feed in clients.feeds(queue)]
    assert names == {"q1": ["capture"], "q2": ["q1_q2.capture"], "q$3": ["q2_q$3.q1_q2.capture"], "q4": []}
    assert folders[0].startswith(f"{tmp_path}/other/hr.q2.") and folders[1].startswith(f"{tmp_path}/trail/hr.q-24-3.")


@pytest.mark.parametrize(
    ("calls", "code"),
    [
        ([capture("one"), capture("two")], "RUL-140"),
        ([capture(), propagation("q1", "q2"), propagation("q2", "q1")], "RUL-141"),
        ([capture(), APPLY], "RUL-142"),
    ],
    ids=["two captures", "circle", "nothing comes"],
)
def test_what_can_not_be_is_refused(calls: list[dict[str, Any]], code: str, tmp_path: Path) -> None:
    channel = streams_channel(tmp_path, NOWHERE, *calls)
    with channel.opened() as context, pytest.raises(DdlReplError) as error:
        clients = StreamsClients(context)
        _ = clients.capture
        for client in clients.of_kind(ClientKind.APPLY) or clients.of_kind(ClientKind.PROPAGATION):
            clients.require_fed(client)
    assert error.value.code == code


def test_a_channel_without_the_section_has_no_clients(tmp_path: Path) -> None:
    file = channel_file(tmp_path, NOWHERE, f"{NOWHERE}2")
    with flow.open_channel(file, InProcess()) as context:
        clients = StreamsClients(context)
        assert clients.environment.clients == {} and clients.capture_rules() is None
        assert context.channel.captures_log and [one.name for one in context.channel.destinations] == ["warehouse"]


@pytest.mark.parametrize("stage", ["propagate", "sync_capture", "apply_queues", "retry_errors"])
def test_what_clients_do_is_refused_without_the_section(stage: str, tmp_path: Path) -> None:
    file = channel_file(tmp_path, NOWHERE, f"{NOWHERE}2")
    with (
        flow.open_channel(file, InProcess()) as context,
        pytest.raises(ConfigError, match="no section streams") as error,
    ):
        getattr(flow, stage)(context)
    assert error.value.code == "CFG-190"


@pytest.mark.parametrize(("stage", "code"), [("adapt", "CFG-191"), ("integrate", "CFG-191"), ("propagate", "CFG-190")])
def test_a_look_refuses_what_the_stage_refuses(stage: str, code: str, tmp_path: Path) -> None:
    """Else a task for a stage that the channel does not have would end well, run for run."""
    ours = streams_channel(tmp_path, NOWHERE, capture()).file
    file = ours if code == "CFG-191" else channel_file(tmp_path, NOWHERE, f"{NOWHERE}2")
    with pytest.raises(ConfigError) as error:
        flow.has_work(load_channel(file), stage)
    assert error.value.code == code


@pytest.mark.parametrize(
    ("sections", "text"),
    [
        ({"functions": {"hr.f": "no place"}}, "is no place of a function"),
        ({"targets": [{"name": "a", "location": NOWHERE, "apply": "x", "schemas": {"a": "b"}}]}, "schemas"),
        ({"place": {"ddl": "relations"}}, "rules need the shapes of tables"),
    ],
    ids=["function", "target", "relations"],
)
def test_what_the_file_can_not_say(sections: dict[str, Any], text: str, tmp_path: Path) -> None:
    channel = streams_channel(tmp_path, NOWHERE, capture(), **sections)
    with pytest.raises(ConfigError, match=text):
        flow.open_channel(channel.file, InProcess())


@pytest.mark.parametrize("stage", ["adapt", "refresh", "compare", "plan", "check_cut_over"])
def test_what_is_about_targets_is_refused(stage: str, tmp_path: Path) -> None:
    channel = streams_channel(tmp_path, NOWHERE, capture())
    with pytest.raises(ConfigError, match="section streams") as error:
        channel.stage(getattr(flow, stage))
    assert error.value.code == "CFG-191"


@pytest.mark.parametrize(("stage", "instead"), [("retry", "--all"), ("give_up", "errors delete")])
def test_what_there_is_in_place_of_a_stage_is_said(stage: str, instead: str, tmp_path: Path) -> None:
    channel = streams_channel(tmp_path, NOWHERE, capture())
    with pytest.raises(ConfigError, match="CFG-191") as error:
        channel.stage(getattr(flow, stage), ["hr.t"])
    assert instead in error.value.hint
