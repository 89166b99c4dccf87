"""Names and statements of a source act on nobody's screen: no commands, no turned lines, no faked ones."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.cli.app import main
from airflow_ddlrepl.errors import CannotAdapt, DdlReplError
from airflow_ddlrepl.operators.messages.approvals import plan_text
from airflow_ddlrepl.operators.messages.markdown import block, bold, code, plain
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.visible import as_lines, continued, one_line, visible
from tests.conftest import Databases
from tests.support.replica import Replica, channel_file

CLEAR, TURN, TITLE, FAKE = "\x1b[2J", "\u202etxt", "\x1b]0;x\x07", "n\nokay: nothing to do"
HOSTILE = (
    CLEAR,
    TURN,
    TITLE,
    FAKE,
    "\x9b2J",
    "a\rb",
    "a\bb",
    "\u200bx",
    "\u2066x\u2069",
    "a\u2028b",
    "\x85x",
    "[bold]x",
    "[link=http://h]x",
    "::endgroup::",
    ":::group::x",
)
MANY = " ".join(HOSTILE)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def check(text: str) -> None:
    """No character acts, and no line begins as a name wants it to: one that goes on is set in."""
    assert [c for c in text if not c.isprintable() and c not in "\n\t"] == []
    assert not re.search("::(end)?group::", text), "Airflow's page of a log hides the line"
    assert [line for line in text.split("\n") if line.removeprefix("    ").startswith(("okay", " okay"))] == []


def test_what_acts_on_a_screen_is_escaped() -> None:
    for show in (visible, one_line, continued, plain, bold, code, block):
        assert [c for c in show(MANY) if not c.isprintable() and c not in "\n\t"] == []
        assert not re.search("::(end)?group::", show("::group::group::endgroup::"))
    assert one_line("a::group::b") == r"a\x3a:group::b" and visible("a::groups::b") == "a::groups::b"
    assert one_line(FAKE) == "n\\nokay: nothing to do" and as_lines([FAKE, "b"]).count("\n") == 1
    assert visible("grüße 漢字 🙂\tx\ny") == "grüße 漢字 🙂\tx\ny"
    error = CannotAdapt(MANY, code="ADP-104", table=MANY, hint=FAKE)
    assert [line[:4] for line in str(error).split("\n")] == ["ADP-", "    ", "  hi", "    "]


def test_every_record_of_our_logger_is_escaped(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "ddlrepl"):
        logging.getLogger("ddlrepl").warning("table %s: %d%%", MANY, 5)
    (record,) = caplog.records
    check(record.getMessage())
    assert record.getMessage().endswith(": 5%") and "\\nokay" in record.getMessage()


def test_what_runs_and_commands_print_is_escaped(
    databases: Databases, tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Tables, columns, types, texts of statements, defaults and values with hostile characters in them."""
    file = channel_file(tmp_path, databases.source, databases.target)
    replica = Replica(databases.source, databases.target, file)
    names = [name for name in HOSTILE if len(name.encode()) < 40]
    with caplog.at_level(logging.DEBUG, "ddlrepl"):
        for number, name in enumerate(names):
            replica.at_source(f"create table {quoted(name)} (id int primary key, {quoted(name)} text)")
            replica.at_source(f"insert into {quoted(name)} values ({number}, E'\\x1b[2J')")
        replica.begin()
        for name in names:
            replica.at_source(
                f"alter table {quoted(name)} add {quoted(name + '2')} text default E'x\\n\\u202e' /* {name} */"
            )
            replica.at_target(f"update {quoted(name)} set id = -1")
        replica.capture()
        with flow.open_channel(replica.file, InProcess()) as cycle:
            planned = flow.plan(cycle)
        check(planned.text())
        approval = plan_text("shop", planned.to_json(), "run")
        assert [c for c in approval if not c.isprintable() and c not in "\n\t"] == []
        for command in ("plan", "replicate", "status", "compare", "doctor"):
            with pytest.raises(SystemExit):
                main([command, str(file)])
        replica.at_source(*(f"update {quoted(name)} set id = id + 100" for name in names))
        with pytest.raises(DdlReplError) as caught:
            replica.replicate()
        with pytest.raises(SystemExit):
            main(["status", str(file)])
    shown = capsys.readouterr()
    check(shown.out)
    check(shown.err)
    check(str(caught.value))
    for record in caplog.records:
        if record.name == "ddlrepl":
            check(record.getMessage())
