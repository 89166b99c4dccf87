"""The section `conflicts` of a channel file, and what MAP says of conflicts."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_ddlrepl.config.file.load import read_channel
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.scope import Scope, Whole, discards
from airflow_ddlrepl.config.sections.table_mapping import ConflictRule
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.model.names import TableName

HEAD = {"channel": "c", "source": {"location": "a", "tables": ["*.*"]}}


def channel(conflicts: Any, **target: Any) -> Channel:
    targets = [{"name": "t", "location": "b", **target}]
    return Channel.model_validate({**HEAD, "targets": targets, "conflicts": conflicts})


def test_the_first_entry_that_matches_a_table_decides() -> None:
    found = channel(
        [
            {"tables": "x*", "update_row_exists": {"use_max": ["a", "b"]}, "delete_row_missing": "DISCARD"},
            {"compare": {"all_except": ["c"]}, "compare_deletes": "key", "update_row_exists": "ignore"},
        ]
    )
    first, other = (found.at("t").settings(TableName("public", name)).conflicts for name in ("x1", "y"))
    assert first is not None and other is not None
    assert {one: str(answer) for one, answer in first.answers.items()} == {
        "update_row_exists": "use_max (a, b)",
        "delete_row_missing": "discard",
    }
    assert [other.compares(name) for name in ("c", "d")] == [False, True]
    assert not other.compares("d", of_deletes=True) and first.compares("d", of_deletes=True)
    assert other.columns == ("c",) and discards(found)
    assert Scope.of(found).whole == (Whole("x*"), Whole("*"))


def test_map_names_the_columns_of_the_target() -> None:
    one = {
        "source": "a.t",
        "target": "b.t",
        "colmap": {"use_defaults": True, "columns": {"seen": "changed"}},
        "conflicts": {"compare": ["seen", "v"], "insert_row_exists": {"use_min": "seen"}},
    }
    found = channel([], replicat={"maps": [one, {"source": "a.*", "target": "b.*"}]})
    answers = found.at("t").settings(TableName("a", "t")).conflicts
    assert answers is not None and answers.columns == ("changed", "v")
    assert found.at("t").settings(TableName("a", "u")).conflicts is None
    assert Whole("a.t") in Scope.of(found).whole
    with pytest.raises(ValueError, match=r"conflicts\[0\] is for target t, and so are options of MAP a.t"):
        channel([{"update_row_exists": "ignore"}], replicat={"maps": [one]})


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("{}", "says nothing: write `compare`, or one of"),
        ("{delete_row_missing: overwrite}", "overwrite is no resolution of delete_row_missing: write ignore, discard"),
        ("{delete_row_exists: {use_max: a}}", "use_max is no resolution of delete_row_exists"),
        ("{update_row_exists: use_max}", "use_max needs a column: write {use_max: column}"),
        ("{update_row_exists: {ignore: a}}", "ignore has none"),
        ("{update_row_exists: {use_max: [a, a]}}", "needs the names of columns, each once"),
        ("{update_row_exists: {use_max: a, use_min: b}}", "has to name one resolution"),
        ("{compare: changed}", "'changed' is neither all nor key: write a list of columns, [changed]"),
    ],
)
def test_what_can_not_be_is_an_error(entry: str, why: str) -> None:
    text = "channel: c\nsource: {location: a, tables: ['*.*']}\ntargets: [{name: t, location: b}]\n"
    with pytest.raises(ConfigError) as raised:
        read_channel(f"{text}conflicts: [{entry}]\n")
    assert why in str(raised.value)


def test_an_entry_is_written_as_it_was_read() -> None:
    entry = {"tables": ["x"], "compare": "key", "update_row_exists": {"use_max": "a"}, "delete_row_exists": "ignore"}
    read = ConflictRule.model_validate(entry)
    assert read.model_dump(mode="json", exclude_defaults=True) == entry
