"""`ddlrepl errors`: transactions that wait in the error queue of an apply process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import ApplyError, Exit
from tests.cli.test_cli import Run, run  # noqa: F401 - the fixture
from tests.flow.streams.apply_process.test_apply import begun, cycle, rules
from tests.postgres.apply_lcrs.applying import ask
from tests.support.replica import run as at


def test_transactions_that_wait_are_shown_retried_and_deleted(run: Run, databases: Any, tmp_path: Path) -> None:  # noqa: F811
    channel = begun(databases, tmp_path, rules("global"))
    at(databases.target, "INSERT INTO hr.t VALUES (1, 0, 'theirs')")
    with pytest.raises(ApplyError):
        cycle(channel, "INSERT INTO hr.t VALUES (1, 1, 'ours')", "DELETE FROM hr.t")
    errors = json.loads(run("errors", "list", channel.file, "--json").out)
    [waiting] = [one for one in errors if "/" in str(one["id"])]
    assert (waiting["code"], waiting["stage"]) == ("23505", "apply apply_hr")
    shown = run("errors", "show", channel.file, waiting["id"])
    assert shown.code == Exit.DONE and "theirs" in shown.out and "duplicate key" in shown.out
    assert run("errors", "retry", channel.file, "--all").code == Exit.FAILED
    at(databases.target, "DELETE FROM hr.t")
    assert waiting["id"] in run("errors", "retry", channel.file, waiting["id"]).out
    assert ask(databases.target, "SELECT note FROM hr.t") == [("ours",)]
    at(databases.target, "DELETE FROM hr.t")
    with pytest.raises(ApplyError, match="no data found"):
        channel.stage(flow.apply)
    [waiting] = [one for one in json.loads(run("errors", "list", channel.file, "--json").out) if "/" in str(one["id"])]
    assert run("errors", "delete", channel.file, waiting["id"]).code == Exit.DONE
    assert "APL-112" in run("errors", "delete", channel.file, waiting["id"]).err


def test_what_is_to_be_retried_is_said_once(run: Run, tmp_path: Path) -> None:  # noqa: F811
    file = tmp_path / "x.yml"
    for command in (("retry", file, "7", "--all"), ("delete", file), ("delete", file, "7", "--table", "hr.t")):
        refused = run("errors", *command)
        assert refused.code == Exit.USAGE and "CFG-195" in refused.err
