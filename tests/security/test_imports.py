"""Files that people import, and channel files: read once, in their folder alone, without secrets in errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.config.condition.parser import condition
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.frontends.goldengate.importing import import_goldengate
from airflow_ddlrepl.frontends.hvr.importing import import_hvr
from airflow_ddlrepl.frontends.streams.importing import import_streams
from airflow_ddlrepl.frontends.streams.script import line_ends, tokens, units

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
    ],
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
        Counted.searches += 1
        return super().find(*wanted)

    def __getitem__(self, place: Any) -> str:
        found = super().__getitem__(place)
        Counted.cut += len(found)
        return found


@pytest.mark.parametrize("head", STREAMS)
@pytest.mark.parametrize("unit", ["q'[ ", "q'! ", "/* ", ";", "'", "SELECT;\n", "-\n", "(\n", "EXEC x(\n", "BEGIN "])
def test_a_script_is_read_once(head: str, unit: str) -> None:
    """What is not closed is looked for once, and no part of a script is cut out of it again and again."""
    Counted.searches = Counted.cut = 0
    text = Counted(head + unit * 4000)
    list(units(text))
    assert Counted.cut <= 4 * len(text)
    Counted.searches = 0
    list(tokens(text))
    assert Counted.searches <= 8


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
