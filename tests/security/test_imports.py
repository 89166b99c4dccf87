"""Files that people import, and channel files: read once, in their folder alone, without secrets in errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.goldengate.prm import compile
from airflow_ddlrepl.goldengate.prm.importing import import_goldengate
from airflow_ddlrepl.goldengate.prm.source_text import _DEFINITION
from airflow_ddlrepl.hvr.definitions import read_text
from airflow_ddlrepl.hvr.definitions.importing import import_hvr
from airflow_ddlrepl.notation.condition.parser import condition
from airflow_ddlrepl.notation.suggestion import nearest
from airflow_ddlrepl.streams.script.importing import import_streams
from airflow_ddlrepl.streams.script.script import line_ends, tokens, units

CHANNEL = 'channel: x\nsource: {location: a, tables: ["a.*"]}\ntargets: [{name: w, location: b}]\n'
STREAMS = ("", "BEGIN\n", "EXEC DBMS_STREAMS_ADM.ADD_TABLE_RULES(", "DECLARE x VARCHAR2(1) := ", "SELECT ")
NESTING = {
    import_streams: [
        (f"EXEC DBMS_STREAMS_ADM.ADD_SUBSET_RULES(table_name => 'hr.t', dml_condition => {quote}", unit)
        for quote in ("", "'")
        for unit in ("(", "NOT ", "-", "((a = ", "CASE WHEN ", "a||")
    ],
    import_goldengate: [
        (f"REPLICAT r\nMAP hr.t, TARGET bk.t, {head}", unit)
        for head in ("WHERE (", "FILTER (", "COLMAP (a = ", "")
        for unit in ("(", "NOT ", "-", "@COMPUTE(", "@STREQ(")
    ]
    + [("", "[")],
    import_hvr: [("", "["), ('[{"add_channel":', '{"a":'), ('chn * * Restrict /RefreshCondition="', "(")],
    load_channel: [
        ("", "["), (f"{CHANNEL}x: ", "{a: "), (f'{CHANNEL}restrict: [{{table: "*", condition: "', "("),
        (f'{CHANNEL}streams: {{calls: [{{add_subset_rules: {{table_name: hr.t, dml_condition: "', "NOT "),
    ],
}  # fmt: skip


def written(folder: Path, read: Callable[..., Any], text: str) -> Any:
    file = folder / "file.prm"
    file.write_text(text)
    return read([file]) if read is import_goldengate else read(file)


@pytest.mark.parametrize("read", NESTING, ids=lambda one: one.__name__)
def test_what_is_nested_too_deeply_is_an_error_of_ours(tmp_path: Path, read: Callable[..., Any]) -> None:
    for head, unit in NESTING[read]:
        try:
            written(tmp_path, read, head + unit * 5000)
        except DdlReplError:
            continue
    with pytest.raises(ValueError, match="nested too deeply"):
        condition("(" * 5000)


class Counted(str):
    """A text that counts how often somebody looks for the end of something in it, and what is cut out of it."""

    searches = cut = 0

    def find(self, *wanted: Any) -> int:
        Counted.searches += wanted[0] != "\n"
        return super().find(*wanted)

    def __getitem__(self, place: Any) -> str:
        found = super().__getitem__(place)
        Counted.cut += len(found)
        return found


@pytest.mark.parametrize("head", STREAMS)
@pytest.mark.parametrize(
    "unit", ["q'[ ", "q'! ", "/* ", "/*\n", ";", "'", "SELECT;\n", "-\n", "(\n", "EXEC x(\n", "BEGIN "]
)
def test_a_script_is_read_once(head: str, unit: str) -> None:
    """What is not closed is looked for once, and no part of a script is cut out of it again and again."""
    Counted.searches = Counted.cut = 0
    text = Counted(head + unit * 4000)
    list(units(text))
    assert Counted.cut <= 4 * len(text)
    assert Counted.searches <= 8
    Counted.searches = 0
    list(tokens(text))
    assert Counted.searches <= 8


def test_what_ends_in_vain_behind_a_comment_is_looked_for_again_before_it() -> None:
    """A statement ends before what it has looked at: there the end of a comment may be."""
    script = "SELECT 1\n\n/* a */ /* b\nEXEC DBMS_STREAMS_ADM.X();\n"
    assert [one.text.strip() for one in units(script)][:2] == ["SELECT 1", "/* b"]


@pytest.mark.parametrize("unit", ["\\\n", "'\n", "1\n", "SELECT;\n", "PASSWORD x\n", "x{}\n", "MAP x{}\n"])
def test_unknown_parameters_are_compared_with_known_ones_a_few_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: str
) -> None:
    """Each comparison takes milliseconds, and a file may have a hundred thousand such lines."""
    asked: list[str] = []

    def counted(word: str, known: Any) -> str:
        asked.append(word)
        return nearest(word, known)

    monkeypatch.setattr(compile, "nearest", counted)
    with suppress(DdlReplError):
        written(tmp_path, import_goldengate, "EXTRACT e\nTABLE hr.t;\n" + "".join(map(unit.format, range(2000))))
    assert len(asked) == len(set(asked)) <= compile.MOST_UNKNOWN


def test_a_row_of_hvr_is_split_in_one_pass() -> None:
    """A sign in quotes separates nothing; a quote that is not closed is one before the pairs."""
    for line, wanted in (
        ("a | b", ["a ", " b"]),
        ('a\t"b\tc"\td', ["a", '"b\tc"', "d"]),
        ('a | " | b', ['a | " ', " b"]),
        ('"a" | "b | c', ['"a" | "b ', " c"]),
    ):
        assert list(read_text._split(line)) == wanted
    line = Counted("chn | " + "| " * 4000)
    Counted.cut = 0
    assert len(list(read_text._split(line))) == 4002
    assert Counted.cut <= len(line)
    assert not re.search(r"\(\?[=!][^)]*[*+]", read_text._CELL.pattern), (
        "what looks ahead looks at the whole line each time"
    )


def test_the_blanks_of_a_macro_are_read_once() -> None:
    """A number of blanks can't be shared out in several ways."""
    assert _DEFINITION.match("\n" * 200_000) is None
    found = _DEFINITION.match(" PARAMS (#a, #b)\nBEGIN\n x #a\nEND;")
    assert found is not None and found.groups() == ("#a, #b", "\n x #a\n")


def test_files_that_others_include_lie_beside_them(tmp_path: Path) -> None:
    (tmp_path / "secret.prm").write_text("TABLE secret.of_others;\n")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link.prm").symlink_to(tmp_path / "secret.prm")
    (inside / "folder").symlink_to(tmp_path)
    for name in ("../secret.prm", str(tmp_path / "secret.prm"), "link.prm", "folder/secret.prm", "x/../../secret.prm"):
        file = inside / "e.prm"
        file.write_text(f"EXTRACT e\nINCLUDE {name}\nTABLE hr.t;\n")
        with pytest.raises(DdlReplError) as found:
            import_goldengate([file])
        assert found.value.code == "CFG-161" and "of_others" not in str(found.value), name


@pytest.mark.parametrize(
    "line",
    [
        "trail: ['${SECRET}']", "defaults: ${SECRET}", "restrict: [{table: '*', condition: 'a = ${SECRET} b'}]",
        "adapt_ddl: [{table: '*', ${SECRET}: 1, add_table_pattern: 'x.${SECRET}.y.z'}]", "lock: ${SECRET}",
        "streams: {functions: {f: '${SECRET}'}}", "retention: '${SECRET}'", "capture: {format: '${SECRET}'}",
    ],
)  # fmt: skip
def test_the_value_of_a_variable_is_in_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.setenv("SECRET", 'hunter2 it\'s\n"x"')
    file = tmp_path / "channel.yml"
    file.write_text(CHANNEL + line + "\n")
    with pytest.raises(DdlReplError) as found:
        load_channel(file)
    assert "hunter2" not in str(found.value).lower()


@pytest.mark.parametrize("unit", ["@x\n", "END;\n", "BEGIN DBMS_STREAMS_ADM.ADD_TABLE_RULES('hr.t');\nEND;\n"])
def test_the_lines_of_a_script_are_counted_once(tmp_path: Path, unit: str) -> None:
    line_ends.cache_clear()
    found = written(tmp_path, import_streams, unit * 2000)
    assert len(found.findings) >= 2000 and max(one.line for one in found.findings) >= 2000
    asked = line_ends.cache_info()
    assert asked.hits + asked.misses >= 2000, "lines are counted by it"
    assert asked.misses <= 1 + 2 * unit.count("BEGIN") * 2000, "each text once"
