"""The command line: one JSON document, exit codes, errors without traceback, no secrets."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.cli import main, terminal
from airflow_ddlrepl.errors import ControlStop, DdlReplError, Exit, LockHeld, Unreachable
from airflow_ddlrepl.flow import RunContext, by_arguments
from airflow_ddlrepl.flow.rewind.preview import RewindPlan
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.revision import Origin, Revision
from airflow_ddlrepl.model.table import Column, Key, Table
from airflow_ddlrepl.model.types import DataType
from airflow_ddlrepl.repository.repository import Repository

CHANNEL = """\
channel: shop
source: {location: "postgresql://app:geheim@127.0.0.1:1/shop", tables: ["public.*"]}
targets: [{name: w, location: "postgresql://dw:geheim@127.0.0.1:1/w"}]
repository: sqlite:///repository.db
"""


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


class Run:
    """Runs the command line as the console script does, in this process."""

    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd

    def __call__(self, *arguments: str | Path) -> Outcome:
        with pytest.raises(SystemExit) as ended:
            main([str(a) for a in arguments])
        out, err = self._capfd.readouterr()
        assert "geheim" not in out + err
        return Outcome(int(ended.value.code or 0), out, err)


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    monkeypatch.delenv("DDLREPL_DEBUG", raising=False)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield Run(capfd)
    monkeypatch.delenv("DDLREPL_DEBUG", raising=False)
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.yaml"
    path.write_text(CHANNEL)
    return path


@dataclass
class Done:
    data: Any

    def to_json(self) -> Any:
        return self.data

    def text(self) -> str:
        return "done \x1b[31m"

    @property
    def is_equal(self) -> bool:
        return not (isinstance(self.data, dict) and self.data.get("differences"))


class FakeFlow:
    """Stands in for the stages: this test is about the shell around them."""

    outcome: Any = Done({"differences": 0, "targets": {}})

    def act(self, name: str) -> Any:
        def run(cycle: RunContext, *args: object, **kwargs: object) -> Any:
            print("noise on standard output")
            os.write(1, b"noise of a JVM\n")
            logging.getLogger("ddlrepl").info("%s %s %s postgresql://a:geheim@h/d", name, args, kwargs)
            if isinstance(self.outcome, BaseException):
                raise self.outcome
            return self.outcome

        return run


STAGES = ("replicate", "plan", "compare", "status", "deactivate")
BY_ARGUMENTS = {"activate_channel": "activate", "refresh_tables": "refresh", "rewind_tables": "rewind"}


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> FakeFlow:
    fake = FakeFlow()
    for name in (*STAGES, "roll_back"):
        monkeypatch.setattr(flow, name, fake.act(name))
    for name, stage in BY_ARGUMENTS.items():
        monkeypatch.setattr(by_arguments, name, fake.act(stage))
    return fake


def test_help_and_version_and_usage(run: Run) -> None:
    out = run("--help").out
    for command in ("doctor", "check", "activate", "replicate", "plan", "refresh", "compare", "status"):
        assert command in out
    assert "Exit codes: 0 done" in out
    assert run("--version").out.startswith("ddlrepl ")
    for wrong in (["nonsense"], ["check"], ["replicate", "a", "b"], ["compare", "x", "--nope"]):
        assert run(*wrong).code == Exit.USAGE


def test_check(run: Run, file: Path) -> None:
    assert run("check", file) == Outcome(0, f"{file}: channel shop is valid\n", "")
    file.write_text(CHANNEL + "adapt_ddl: [{ignore_table_pattern: x}]\n")
    outcome = run("check", file, "--json")
    assert outcome.code == Exit.DONE
    assert len(json.loads(outcome.out)["warnings"]) == 1


def test_import(run: Run, tmp_path: Path) -> None:
    """The channel file is printed, or written and valid; what is refused makes the exit code 1."""
    file, output = tmp_path / "crm.txt", tmp_path / "crm.yaml"
    file.write_text("SRC * Capture\nTGT * Integrate\nAdaptDDL /AddTablePattern=*\n")
    outcome = run("import", "hvr", file, "--output", output)
    assert (outcome.code, outcome.out.splitlines()[-1]) == (0, f"{output} is written")
    assert run("check", output).code == Exit.DONE
    file.write_text("SRC * Capture\nTGT * Integrate\nTGT * ColumnProperties /Name=at /Extra /TimeKey\n")
    outcome = run("import", "hvr", file)
    assert (outcome.code, "refused: 1\n" in outcome.out) == (Exit.FAILED, True)
    assert json.loads(run("import", "hvr", file, "--json").out)["findings"][0]["line"] == 3


@pytest.mark.req("HVR-O-23")
def test_check_refuses_a_database_that_we_cant_replicate_from(run: Run, file: Path) -> None:
    """But not what may be there where the channel runs: a variable, a connection."""
    source = "postgresql://app:geheim@127.0.0.1:1/shop"
    file.write_text(CHANNEL.replace(source, "oracle://scott:geheim@there/erp"))
    outcome = run("check", file)
    assert outcome.code == Exit.USAGE and outcome.out == ""
    assert "source: the location is of type 'oracle'" in outcome.err and "LogMiner" in outcome.err
    assert "geheim" not in outcome.err
    file.write_text(CHANNEL.replace(source, "somewhere_else"))
    assert run("check", file).code == Exit.DONE


@pytest.mark.parametrize(
    "action",
    [
        pytest.param("{add_table_pattern: t*}", marks=pytest.mark.req("HVR-P-11")),
        pytest.param("{add_table_pattern: t*, ignore_table_pattern: tmp*}", marks=pytest.mark.req("HVR-P-17")),
        pytest.param("{add_table_pattern: t*, capture_schema: a}", marks=pytest.mark.req("HVR-P-26")),
        pytest.param(
            "{add_table_pattern: t*, capture_schema: a, integrate_schema: b}", marks=pytest.mark.req("HVR-P-31")
        ),
    ],
)
def test_check_refuses_patterns_and_schemas_for_a_source_whose_type_has_none(run: Run, file: Path, action: str) -> None:
    source = "postgresql://app:geheim@127.0.0.1:1/shop"
    text = f"{CHANNEL}adapt_ddl: [{action}]\n"
    file.write_text(text)
    assert run("check", file).code == Exit.DONE
    file.write_text(text.replace(source, "hana://app:geheim@there/shop"))
    outcome = run("check", file)
    assert outcome.code == Exit.USAGE and "source: the location is of type 'hana'" in outcome.err


def test_a_mistake_in_the_file_is_exit_2_with_file_and_line(run: Run, file: Path) -> None:
    file.write_text(CHANNEL + "tarlets: 1\nlock: {lease_seconds: soon}\n")
    for command in (["check"], ["replicate"], ["status"], ["controls"], ["controls", "remove"], ["doctor"]):
        extra = ["1"] if command[-1] == "remove" else []
        outcome = run(*command, file, *extra)
        assert outcome.code == Exit.USAGE
        assert f"{file}:5: unknown key tarlets; did you mean targets?" in outcome.err
        assert f"{file}:6: lock.lease_seconds" in outcome.err
        assert "Traceback" not in outcome.err
        assert outcome.out == ""
    outcome = run("check", file, "--json")
    assert json.loads(outcome.out)["error"]["code"] == "CFG-101"
    assert run("check", file.parent / "nope.yaml").code == Exit.USAGE


def test_schema(run: Run) -> None:
    outcome = run("schema")
    jsonschema.Draft202012Validator.check_schema(json.loads(outcome.out))
    assert outcome.code == 0


@pytest.mark.parametrize("command", STAGES)
def test_json_is_the_only_thing_on_standard_output(run: Run, stages: FakeFlow, file: Path, command: str) -> None:
    outcome = run(command, file, "--json")
    assert json.loads(outcome.out) == {"differences": 0, "targets": {}}
    assert "noise on" in outcome.err
    assert "noise of a JVM" in outcome.err
    assert "postgresql://a:***@h/d" in outcome.err
    assert outcome.code == 0
    assert "done \\x1b[31m" in run(command, file).out
    assert run("--quiet", command, file).err == ""


def test_arguments_reach_the_flow(run: Run, stages: FakeFlow, file: Path) -> None:
    assert (
        "activate () {'load': False, 'start': 'now', 'enrollment': 'keep', 'trail': 'keep', 'accept': 'nothing'}"
        in run("activate", file, "--no-refresh").err
    )
    assert "'start': Position('0/1A')" in run("activate", file, "--start-moment", "0/1A").err
    assert "'start': 'oldest'" in run("activate", file, "--start-moment", "oldest").err
    assert "CFG-111" in run("activate", file, "--start-moment", "2026-11-21 08:00").err
    assert "'trail': 'new'" in run("activate", file, "--new-trail").err
    assert "'enrollment': 'only'" in run("activate", file, "--enrollment", "only").err
    assert run("activate", file, "--enrollment", "all").code == Exit.USAGE
    named = ("refresh", file, "--table", "a.b", "--table", "c.*")
    assert "refresh (['a.b', 'c.*'], RefreshOptions(granularity=<Granularity.BULK" in run(*named).err
    assert "Granularity.ROW: 'r'>, is_verbose=True" in run(*named, "--options", "-gr -v").err
    refused = run(*named, "--options", "-v")
    assert refused.code == Exit.USAGE and "CFG-136" in refused.err
    assert "CFG-137" in run("refresh", file, "--options", "-gr").err
    for snapshot, wanted in (("newest", "None"), ("4711", "4711")):
        assert f"roll_back (['a.b', 'c.*'], {wanted})" in run(*named, "--from-snapshot", snapshot).err
    assert "CFG-136" in run(*named, "--from-snapshot", "oldest").err
    assert run("compare", file, "--table", "b").code == Exit.USAGE


def test_a_rewind_that_is_not_possible_is_told_by_its_plan(
    run: Run, file: Path, stages: FakeFlow, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = ("rewind", file, "--to", "0/10", "--into", "past", "--json")
    monkeypatch.setattr(flow, "plan_rewind", stages.act("plan_rewind"))
    assert run(*order).code == Exit.DONE
    for verdict, code in (("unsafe", Exit.FAILED), ("safe (keep)", Exit.DONE)):
        stages.outcome = RewindPlan("past", Position(1), Position(16), [{"verdict": verdict}], 0, 0, [], "")
        assert run(*order, "--plan").code == code


def test_compare_fails_when_anything_differs(run: Run, stages: FakeFlow, file: Path) -> None:
    stages.outcome = Done({"differences": 3})
    assert run("compare", file).code == Exit.FAILED
    assert json.loads(run("compare", file, "--json").out) == {"differences": 3}


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (LockHeld("held", code="LCK-101", hint="wait"), 1),
        (ControlStop("stopped", code="CTL-101", table="a.b", at=Position(5), hint="remove it"), 3),
        (Unreachable("gone: postgresql://a:geheim@h/d", code="CON-101", hint="start it"), 4),
        (RuntimeError("postgresql://a:geheim@h/d\nmore"), 1),
    ],
)
def test_errors_have_their_exit_code_and_no_traceback(
    run: Run, stages: FakeFlow, file: Path, error: Exception, code: int
) -> None:
    stages.outcome = error
    outcome = run("replicate", file)
    assert (outcome.code, "Traceback" in outcome.err) == (code, False)
    assert "hint: " in outcome.err
    outcome = run("replicate", file, "--json")
    assert outcome.code == code
    assert json.loads(outcome.out)["error"]["code"] == getattr(error, "code", "INT-100")
    assert "Traceback" in run("--debug", "replicate", file).err
    if isinstance(error, DdlReplError):
        assert outcome.err.count(error.code) == 1


def test_controls_are_listed_and_removed(run: Run, file: Path) -> None:
    assert run("controls", file).out == "no controls\n"
    assert run("errors", file).out == "no errors\n"
    with Repository.open(f"sqlite:///{file.parent}/repository.db") as repository:
        repository.ensure_channel("shop", "f")
        with repository.lock("shop", "test") as lock:
            repository.add_control("shop", lock.token, "w", LogKey(0x16B3748, 2), "type\nchange", "FAIL_INTEG_JOB")
    assert "1   w       0/16B3748  FAIL_INTEG_JOB  type change" in run("controls", file).out
    assert json.loads(run("controls", "list", file, "--json").out)[0]["at"] == "0/16B3748"
    assert run("controls", "remove", file, "7").code == Exit.USAGE
    assert run("controls", "remove", file, "1").out == "control 1 is removed: w goes on past 0/16B3748\n"
    assert json.loads(run("controls", "--json", file).out) == []
    assert len(json.loads(run("controls", file, "--removed", "--json").out)) == 1


def test_errors_and_revisions_are_listed(run: Run, file: Path) -> None:
    table = Table(7, TableName("public", "orders"), ())
    found = [
        Revision(7, 1, LogKey(0, 0), table, Origin.INSPECTED),
        Revision(7, 2, LogKey(0x10, 0), None, Origin.IN_LOG),
    ]
    with Repository.open(f"sqlite:///{file.parent}/repository.db") as repository:
        repository.ensure_channel("shop", "f")
        with repository.lock("shop", "test") as lock:
            repository.enroll("shop", lock.token, found)
        repository.record_error("shop", "r", "capture", DdlReplError("it broke", code="X-1", hint="mend it"))
    assert "it broke" in run("errors", file).out
    assert json.loads(run("errors", file, "--json").out)[0]["hint"] == "mend it"
    rows = json.loads(run("revisions", file, "--table", "public.o*", "--json").out)
    assert [(row["table"], row["revision"], row["from"]) for row in rows] == [
        ("public.orders", 1, "0/0"),
        ("public.orders", 2, "0/10"),
    ]
    assert run("revisions", file, "--table", "x.*").out.startswith("no revisions")


def test_two_revisions_are_compared(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    integer, text = DataType("integer", "pg_catalog", "int4"), DataType("text", "pg_catalog", "text")
    key = Key((1,), "pk", True)
    shapes = [
        Table(7, TableName("public", "t"), (Column(1, "id", integer), Column(2, "note", text, default="'x'")), key),
        Table(7, TableName("public", "u"), (Column(1, "id", integer), Column(2, "remark", text)), key),
        Table(8, TableName("public", "u"), (Column(1, "id", text),)),
    ]
    found = [Revision(s.id, n, LogKey(0x10 * n, 0), s, Origin.IN_LOG) for n, s in enumerate(shapes)]
    found += [Revision(8, 3, LogKey(0x30, 0), None, Origin.IN_LOG)]
    with Repository.open(f"sqlite:///{file.parent}/repository.db") as repository:
        repository.ensure_channel("shop", "f")
        with repository.lock("shop", "test") as lock:
            repository.enroll("shop", lock.token, found)
    lines = run("revisions", file, "--table", "public.u", "--diff", "0..1").out.splitlines()
    assert lines[:2] == ["--- public.u revision 0 from 0/0", "+++ public.u revision 1 from 0/10"]
    assert [line for line in lines[2:] if line[0] == "-"] == ["- table public.t", "-   note text default 'x'"]
    assert [line for line in lines[2:] if line[0] == "+"] == ["+ table public.u", "+   remark text"]
    assert "    primary key (id)" in lines and "  rename_column note -> remark" in lines
    told = json.loads(run("revisions", file, "--table", "public.u", "--diff", "1..1", "--json").out)
    assert (told["table_id"], told["from"]["revision"], told["changes"]) == (7, 1, [])
    for wrong, code in (("1-2", "CFG-113"), ("0..9", "CFG-114")):
        outcome = run("revisions", file, "--table", "public.u", "--diff", wrong)
        assert (outcome.code, code in outcome.err) == (Exit.USAGE, True)
    assert "CFG-114" in run("revisions", file, "--table", "public.t", "--diff", "0..1").err
    file.write_text(CHANNEL.replace("postgresql://app:geheim@127.0.0.1:1/shop", "known_elsewhere"))
    assert run("revisions", file, "--table", "public.u", "--diff", "0..1").out.splitlines() == lines
    monkeypatch.setattr(terminal, "_is_coloured", lambda: True)
    assert "\x1b[32m+   remark text\x1b[0m" in run("revisions", file, "--table", "public.u", "--diff", "0..1").out


def test_an_unreachable_repository_is_exit_4(run: Run, file: Path) -> None:
    file.write_text(CHANNEL.replace("sqlite:///repository.db", "postgresql://me:geheim@127.0.0.1:1/r"))
    outcome = run("controls", file)
    assert outcome.code == Exit.UNREACHABLE
    assert "postgresql://me:***@127.0.0.1:1/r can't be reached" in outcome.err


def test_a_letter_that_the_terminal_can_not_show_is_no_failure(tmp_path: Path) -> None:
    file = tmp_path / "ż.yaml"
    file.write_text(CHANNEL)
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    command = [sys.executable, "-m", "airflow_ddlrepl.cli", "check", str(file)]
    done = subprocess.run(command, capture_output=True, env=environment, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"/\\u017c.yaml: channel shop is valid" in done.stdout
