"""`ddlrepl enqueue` and `ddlrepl dequeue`."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.cli import terminal
from airflow_ddlrepl.errors import Exit
from tests.cli.test_cli import CHANNEL, Run, run  # noqa: F401 - the fixture
from tests.flow.streams.message_functions import failing
from tests.flow.streams.messaging import BATTERY, CAPTURE, channel, message_rule, rules, take
from tests.flow.streams.streams_channel import streams_channel

FUNCTION = {"set_rule_transform_function": {"rule_name": "msg", "transform_function": "own.failing"}}
LISTED = {"own.failing": f"{failing.__module__}:failing"}


def test_messages_go_in_and_come_out(
    run: Run,  # noqa: F811
    databases: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One, a list, one per line, from the standard input; what was printed is taken, what could not be given waits."""
    client = message_rule("c", ":msg.f > 0", rule_name="msg")
    hr = channel(tmp_path, databases.source, client, FUNCTION, functions=LISTED)
    file = tmp_path / "messages.json"
    for text in (json.dumps(BATTERY["B9"]), json.dumps([BATTERY["B9"]]), "\n".join([json.dumps(BATTERY["B9"])] * 2)):
        file.write_text(text)
        assert run("enqueue", hr.file, file).code == Exit.DONE
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps([BATTERY["B10"], BATTERY["B9"]])))
    outcome = run("enqueue", hr.file, "-", "--queue", "q", "--json")
    assert (outcome.code, json.loads(outcome.out)) == (Exit.DONE, {"messages": 2, "queue": "q"})
    hr.stage(flow.capture)
    browsed = run("dequeue", hr.file, "--browse", "--max", "1")
    assert (browsed.code, json.loads(browsed.out)) == (Exit.DONE, BATTERY["B9"])
    _fail_to_print(monkeypatch)
    assert run("dequeue", hr.file, "--max", "1").code == Exit.FAILED
    monkeypatch.undo()
    found = run("dequeue", hr.file, "--client", "c", "--json")
    messages = json.loads(found.out)
    assert (found.code, messages["messages"], messages["client"]) == (Exit.FAILED, [BATTERY["B9"]] * 4, "c")
    assert "2 is not for me" in messages["error"]
    again = run("dequeue", hr.file)
    assert (again.code, "RUL-137" in again.err) == (Exit.USAGE, True)
    hr.change(functions={"own.failing": f"{failing.__module__}:ten_more"})
    assert len(take(hr).messages) == 2
    assert run("dequeue", hr.file).out == "no messages\n"


def _fail_to_print(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(result: Any) -> str:
        raise BrokenPipeError

    monkeypatch.setattr(terminal, "_shown", broken)


@pytest.mark.parametrize("text", ["{", "\udcff", None])
def test_files_of_messages_that_can_not_be_read(run: Run, tmp_path: Path, text: str | None) -> None:  # noqa: F811
    (tmp_path / "shop.yml").write_text(CHANNEL)
    if text is not None:
        (tmp_path / "x.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    outcome = run("enqueue", tmp_path / "shop.yml", tmp_path / "x.json")
    assert (outcome.code, "MSG-106" in outcome.err) == (Exit.FAILED, True)


def test_which_client_dequeues(run: Run, databases: Any, tmp_path: Path) -> None:  # noqa: F811
    hr = channel(tmp_path, databases.source)
    outcome = run("dequeue", hr.file)
    assert (outcome.code, "MSG-103" in outcome.err, "streams_type dequeue makes one" in outcome.err) == (1, True, True)
    hr.change(calls=[*(message_rule(name) for name in ("a", "b"))])
    assert "name one of a, b" in run("dequeue", hr.file).err
    assert "RUL-113" in run("dequeue", hr.file, "--client", "c").err
    (tmp_path / "one.json").write_text(json.dumps(BATTERY["B9"]))
    outcome = run("enqueue", hr.file, tmp_path / "one.json")
    assert (outcome.code, "MSG-102" in outcome.err) == (Exit.FAILED, True)


@pytest.mark.req("ST-X-74")
def test_check_says_that_queues_hold_what_a_messaging_client_hides(run: Run, tmp_path: Path) -> None:  # noqa: F811
    client = rules("table", "c", include_ddl=False, dml_rule_name="dml")
    hide = {"delete_column": {"rule_name": "dml", "table_name": "hr.t", "column_name": "ssn"}}
    place = (tmp_path, "postgresql://app@127.0.0.1:1/x", CAPTURE, client)
    for calls, is_told in (((), False), ((hide,), True)):
        outcome = run("check", streams_channel(*place, *calls).file)
        assert outcome.code == Exit.DONE
        assert ("rule dml transforms at messaging client c: " in outcome.out) is is_told
        assert ("queue q and all queues before it hold them" in outcome.out) is is_told
