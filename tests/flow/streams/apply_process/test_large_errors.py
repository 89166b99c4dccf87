"""A transaction of very many changes that fails waits in the error queue; no client holds it in memory.

DDLREPL_ERROR_CHANGES chooses how many changes it has.
"""

from __future__ import annotations

import json
import os
import resource
import time
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.streams.apply_process.error_queue import MOST_SHOWN
from airflow_ddlrepl.ports.work import InProcess
from tests.flow.streams.apply_process.test_apply import begun, rules
from tests.flow.streams.streams_channel import StreamsChannel
from tests.support.crashing import processes
from tests.support.refusing import ask
from tests.support.replica import run

CHANGES = int(os.environ.get("DDLREPL_ERROR_CHANGES", "50000"))
FEW = 100
pytestmark = [pytest.mark.thorough, pytest.mark.timeout(300 + CHANGES // 100)]
MEGABYTES = 50 + min(CHANGES // 10_000, 100)
"""So much more memory than for a few changes may they take: a queue is read by row groups, which fill up to 16 MiB."""
PARALLEL = {"set_parameter": {"apply_name": "apply_hr", "parameter": "parallelism", "value": 4}}


def staged(stage: str, file: Path, found: Path, *more: Any) -> None:
    """Run a stage, and write its error's code, how much memory it took, and its seconds, into a file."""
    code, started = "", time.monotonic()
    with flow.open_channel(file, InProcess()) as context:
        try:
            getattr(flow, stage)(context, *more)
        except DdlReplError as error:
            code = error.code
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    found.write_text(json.dumps([code, megabytes, round(time.monotonic() - started, 1)]))


def measured(channel: StreamsChannel, stage: str, *more: Any) -> tuple[str, int]:
    """Run a stage in a process of its own; return the code of its error, and the megabytes that it took at most."""
    found = channel.file.with_name("measured.json")
    process = processes.Process(target=staged, args=(stage, channel.file, found, *more))
    process.start()
    process.join()
    code, megabytes, seconds = json.loads(found.read_text())
    print(f"{stage}: {megabytes} MB, {seconds} s {code}")
    return code, megabytes


def failed(channel: StreamsChannel, target: str, changes: int) -> dict[str, int]:
    """Let a transaction fail at its last change; then look at it, try it again, and delete it: megabytes by stage."""
    taken = {}
    run(target, f"INSERT INTO hr.t VALUES ({changes}, 0, 'theirs')")
    channel.at_source(f"INSERT INTO hr.t SELECT i, i, 'note ' || i FROM generate_series(1, {changes}) i")
    channel.stage(flow.capture)
    code, taken["apply"] = measured(channel, "apply")
    assert code == "APL-110"
    with channel.opened() as context:
        [error] = flow.queued_errors(context)
    assert error["message"].startswith(f"a transaction of {changes} messages waits")
    code, taken["show_error"] = measured(channel, "show_error", error["id"])
    shown = channel.stage(flow.show_error, error["id"])
    assert (code, len(shown.messages), shown.error["messages"]) == ("", min(changes, MOST_SHOWN), changes)
    code, taken["retry_errors"] = measured(channel, "retry_errors", error["id"])
    assert code == "APL-114"
    assert ask(target, "SELECT count(*) FROM hr.t") == [(1,)]
    code, taken["delete_error"] = measured(channel, "delete_error", error["id"])
    assert (code, ask(target, "SELECT count(*) FROM ddlrepl.apply_error_messages")) == ("", [(0,)])
    return taken


@pytest.mark.parametrize("parameters", [(), (PARALLEL,)], ids=["one by one", "parallel"])
def test_a_failed_transaction_of_any_size_is_not_held_in_memory(
    databases: Any, tmp_path: Path, parameters: tuple[dict[str, Any], ...]
) -> None:
    channel = begun(databases, tmp_path, rules("global"), *parameters)
    few = failed(channel, databases.target, FEW)
    run(databases.target, "DELETE FROM hr.t")
    channel.at_source("TRUNCATE hr.t")
    channel.stage(flow.capture)
    channel.stage(flow.apply)
    many = failed(channel, databases.target, CHANGES)
    assert {stage: many[stage] - few[stage] for stage in few if many[stage] > few[stage] + MEGABYTES} == {}
    code, _ = measured(channel, "apply")
    assert code == ""


def test_a_large_transaction_is_applied_once_nothing_is_in_its_way(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, rules("global"))
    run(databases.target, f"INSERT INTO hr.t VALUES ({CHANGES}, 0, 'theirs')")
    channel.at_source(f"INSERT INTO hr.t SELECT i, i, 'note ' || i FROM generate_series(1, {CHANGES}) i")
    channel.stage(flow.capture)
    assert measured(channel, "apply")[0] == "APL-110"
    run(databases.target, "DELETE FROM hr.t")
    assert measured(channel, "retry_errors")[0] == ""
    assert measured(channel, "apply")[0] == ""
    query = "SELECT count(*), min(id), max(id), sum(k), count(DISTINCT note) FROM hr.t"
    assert ask(databases.target, query) == ask(databases.source, query)
    assert ask(databases.target, query)[0][:3] == (CHANGES, 1, CHANGES)
