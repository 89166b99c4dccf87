"""`ddlrepl import goldengate` and `ddlrepl ddl explain`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_ddlrepl.errors import Exit
from airflow_ddlrepl.goldengate.extract import STAGES
from tests.cli.test_cli import Run, run  # noqa: F401 - the fixture

FILES = Path(__file__).parents[1] / "goldengate" / "prm" / "parameter_files"
EXTRACT = """\
EXTRACT e1
DDL INCLUDE MAPPED, EXCLUDE INSTRCOMMENTS 'local'
DDLOPTIONS REMOVECOMMENTS BEFORE
DDLSUBST 'tablespace users' WITH ''
TABLE hr.*;
"""
REPLICAT = """\
REPLICAT r1
DDLERROR 955 IGNORE RETRYOP MAXRETRIES 2
DDLERROR 942 DISCARD
MAP hr.*, TARGET a.*;
MAP hr.*, TARGET b.*;
"""
REPLICAT_STAGES = [
    "read from trail", "separate comments", "remove comments before", "qualify", "check maps", "map base name",
    "map derived name", "filter", "substitute", "remove comments after", "execute", "check for an error",
    "find DDLERROR rule", "handle",
]  # fmt: skip


@pytest.fixture
def files(tmp_path: Path) -> tuple[str | Path, ...]:
    """The options for the files of both sides."""
    (tmp_path / "e.prm").write_text(EXTRACT)
    (tmp_path / "r.prm").write_text(REPLICAT)
    return "--extract", tmp_path / "e.prm", "--replicat", tmp_path / "r.prm"


def explained(run: Run, *arguments: str | Path) -> list[dict[str, Any]]:  # noqa: F811
    outcome = run("ddl", "explain", "--json", *arguments)
    assert outcome.code == Exit.DONE, outcome.err
    found: list[dict[str, Any]] = json.loads(outcome.out)
    return found


@pytest.mark.req("GG-R-39")
def test_each_stage_of_both_sides_is_shown_in_order(run: Run, files: tuple[str | Path, ...]) -> None:  # noqa: F811
    at_source, first, second = explained(run, *files, "--error", "42P07", "CREATE TABLE hr.t (x int) TABLESPACE users")
    assert [step["stage"] for step in at_source["steps"]] == [stage.name for stage in STAGES]
    assert [step["stage"] for step in first["steps"][:14]] == REPLICAT_STAGES
    assert [step["number"] for step in first["steps"][:14]] == list(range(1, 15))
    assert (at_source["side"], first["side"], second["side"]) == ("extract", "replicat", "replicat")
    assert [one["statement"] for one in (first, second)] == [at_source["text"]] * 2
    assert at_source["text"].strip() == "CREATE TABLE hr.t (x int)"
    assert [one["text"].strip() for one in (first, second)] == ["CREATE TABLE a.t (x int)", "CREATE TABLE b.t (x int)"]


@pytest.mark.parametrize(
    ("code", "whys"),
    [
        ("955", ["errors[0] 42P07: try 1 of 2 more", "retry", "errors[0] 42P07: IGNORE", "ignore"]),
        ("42P01", ["errors[1] 42P01: DISCARD", "discard"]),
        ("XX000", ["no rule of DDLERROR has XX000, and there is no DEFAULT: ABEND", "abend"]),
    ],
)
def test_an_error_of_the_target(code: str, whys: list[str], run: Run, files: tuple[str | Path, ...]) -> None:  # noqa: F811
    found = explained(run, *files, "--side", "replicat", "--error", code, "DROP TABLE hr.t")
    assert [[step["why"] for step in one["steps"] if step["number"] > 12] for one in found] == [whys, whys]


def test_what_extract_discards_does_not_get_to_replicat(run: Run, files: tuple[str | Path, ...]) -> None:  # noqa: F811
    (found,) = explained(run, *files, "ALTER TABLE hr.t ADD x int -- local")
    assert (found["outcome"], found["why"]) == ("discarded", "exclude[0] is true: INSTRCOMMENTS 'local'")
    assert len(found["steps"]) == 10


def test_the_text_shows_what_a_stage_has_changed(run: Run, files: tuple[str | Path, ...]) -> None:  # noqa: F811
    lines = run("ddl", "explain", *files[:2], "DROP TABLE hr.t /* now */").out.splitlines()
    assert lines[0] == "Extract: DROP TABLE hr.t /* now */"
    assert [line.split() for line in lines if ">" in line] == [
        [">", "DROP", "TABLE", "hr.t"], ["14", "write", "to", "trail", "MAPPED", "DROP", "TABLE", "->", "written"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ("--dialect", "mysql", "RENAME TABLE a TO b, c TO d"),
            ["ALTER TABLE a RENAME TO b", "ALTER TABLE c RENAME TO d"],
        ),
        (("--dialect", "oracle", "--schema", "HR", "drop table T"), ["drop table T"]),
    ],
)
def test_without_a_file_a_side_takes_everything(arguments: tuple[str, ...], expected: list[str], run: Run) -> None:  # noqa: F811
    found = explained(run, "--side", "extract", *arguments)
    assert [(one["text"], one["outcome"], one["scope"]) for one in found] == [
        (t, "written", "MAPPED") for t in expected
    ]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("DROP TABLE t",), "DDL-101"),
        (("--side", "extract", "  "), "DDL-102"),
        (("--side", "extract", "--dialect", "postgres:db2", "DROP TABLE t"), "DDL-105"),
        (("--replicat", "shop_extract.prm", "DROP TABLE t"), "CFG-162"),
        (("--extract", "shop_replicat.prm", "DROP TABLE t"), "CFG-162"),
        (("--extract", "nowhere.prm", "DROP TABLE t"), "CFG-160"),
        (("--extract", "bad_lists.prm", "DROP TABLE t"), "CFG-161"),
    ],
)
def test_questions_without_an_answer(
    arguments: tuple[str, ...],
    code: str,
    run: Run,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(FILES)
    outcome = run("ddl", "explain", *arguments)
    assert (outcome.code, outcome.out) == (Exit.USAGE, "")
    assert f"error: {code}" in outcome.err


def test_import_of_both_sides(run: Run) -> None:  # noqa: F811
    """Parameters as YAML in their sections, whichever file is named first; what is refused makes the exit code 1."""
    outcome = run("import", "goldengate", FILES / "shop_replicat.prm", FILES / "shop_extract.prm")
    assert (outcome.code, list(yaml.safe_load(outcome.out))) == (Exit.DONE, ["extract", "replicat"])
    found = json.loads(run("import", "goldengate", FILES / "shop_extract.prm", "--json").out)
    assert found["extract"]["tables"] == ["shop.*", "billing.*"]
    assert {one["fate"] for one in found["findings"]} == {"ignored safely"}
    assert run("import", "goldengate", FILES / "not_ours.prm").code == Exit.FAILED


def test_check_lists_the_findings_alone(run: Run) -> None:  # noqa: F811
    outcome = run("import", "goldengate", FILES / "shop_extract.prm", "--check")
    assert outcome.out.splitlines()[:2] == [f"extract from {FILES}/shop_extract.prm", "refused: nothing"]
    assert "ignored safely: 6" in outcome.out and outcome.out.splitlines()[-1].startswith("  ")


def test_the_table_of_a_dropped_index_is_named_behind_it_or_is_assumed(run: Run, tmp_path: Path) -> None:  # noqa: F811
    """The text does not name it; from Extract to Replicat it stays known."""
    extract, replicat = tmp_path / "e.prm", tmp_path / "r.prm"
    extract.write_text("EXTRACT e\nDDL INCLUDE MAPPED\nTABLE hr.*;\n")
    replicat.write_text("REPLICAT r\nDDL INCLUDE MAPPED\nMAP hr.*, TARGET bk.*;\nMAP hr.pay, TARGET audit.pay;\n")
    files = ("--extract", extract, "--replicat", replicat)
    *found, assumed = explained(run, *files, "DROP INDEX hr.ix")
    assert [(one["scope"], one["text"]) for one in found] == [
        ("MAPPED", "DROP INDEX hr.ix"),
        ("MAPPED", "DROP INDEX bk.ix"),
    ]
    assert assumed["assumed"].startswith("the statement does not name the table; it is taken for hr.(table of ix)")
    lines = run("ddl", "explain", *files, "DROP INDEX hr.ix").out.splitlines()
    assert lines[0].startswith("assumed: the statement does not name the table")
    told = explained(run, *files, "DROP INDEX hr.ix ON hr.pay")
    assert [one["text"] for one in told] == ["DROP INDEX hr.ix", "DROP INDEX bk.ix", "DROP INDEX audit.ix"]
    assert len(explained(run, *files, "CREATE INDEX ix ON hr.tmp (id)")) == 2
