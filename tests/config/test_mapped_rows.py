"""What TABLE and MAP say of rows, as the settings of a table at a target, and what can't be."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from airflow_ddlrepl.config.file.load import read_channel
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.mapping.names import target_names
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import DataType

NAME = TableName("a", "t")
HEAD = "channel: shop\nrepository: sqlite:///r.db\ntrail: t\n"


def channel(maps: list[dict[str, Any]], tables: Sequence[Any] = (), **sections: Any) -> Channel:
    source = {"location": "postgresql://h/a", "tables": ["*.*"], "extract": {"tables": [*tables]}}
    target = {"name": "dw", "location": "postgresql://h/b", "replicat": {"maps": maps}}
    data = {"source": source, "targets": [target], **sections}
    return read_channel(HEAD + "".join(f"{key}: {json.dumps(value)}\n" for key, value in data.items()), "shop.yml")


def names(columns: str, **options: Any) -> dict[str, str | None]:
    """What the columns of table a.t are called at the target: of a TABLE's and a MAP's options."""
    listed = {key: options.pop(key) for key in ("cols", "cols_except") if key in options}
    made = channel([{"source": "a.*", "target": "b.*", **options}], [{"table": "a.*", **listed}])
    integer = DataType("integer", "pg_catalog", "int4", id=23)
    found = Table(1, NAME, tuple(Column(i, name, integer) for i, name in enumerate(columns.split(), 1)))
    return target_names(found, made.at("dw").settings(NAME).names.columns)


def test_colmap_renames_columns_and_leaves_out_the_others() -> None:
    colmap = {"columns": {"number": "id", "mail": "mail", "kind": "'crm'"}}
    assert names("id mail note", colmap=colmap) == {"id": "number", "mail": "mail", "note": None}
    found = names("id number kind note", colmap={"use_defaults": True, **colmap})
    assert found == {"id": "number", "number": None, "kind": None, "note": "note"}


def test_a_column_that_is_mapped_twice_is_renamed_once_and_computed_once() -> None:
    made = channel([{"source": "a.t", "target": "b.t", "colmap": {"columns": {"id": "id", "copy": "id"}}}])
    assert made.at("dw").settings(TableName("a", "t")).columns.extra == {"copy": "id"}


def test_columns_that_table_leaves_out_are_absent_whatever_map_says() -> None:
    assert names("id mail Pin", cols_except=["mail", "Pin"]) == {"id": "id", "mail": None, "Pin": None}
    colmap = {"use_defaults": True, "columns": {"number": "id"}}
    assert names("id mail note", cols=["id", "note"], colmap=colmap) == {"id": "number", "mail": None, "note": "note"}


def test_the_first_map_that_lists_a_table_decides() -> None:
    first = {"source": "a.t", "target": "b.t", "condition": "x = 1"}
    made = channel([first, {"source": "a.*", "target": "b.*", "condition": "y = 1", "ignore": ["DELETE"]}])
    found = [made.at("dw").settings(TableName("a", name)).rows for name in ("t", "u")]
    assert [(one.condition, one.ignore) for one in found] == [("(x = 1)", ()), ("(y = 1)", ("DELETE",))]


def test_conditions_and_ignored_kinds_of_both_sides_add_up() -> None:
    listed = {"table": "a.*", "condition": "x = 1", "ignore": ["update"]}
    made = channel([{"source": "a.*", "target": "b.*", "condition": "y = 1", "ignore": ["DELETE"]}], [listed])
    found = made.at("dw").settings(TableName("a", "t")).rows
    assert (found.condition, found.ignore) == ("((x = 1) AND (y = 1))", ("UPDATE", "DELETE"))


def test_a_key_names_columns_of_the_target_and_a_history_has_its_columns() -> None:
    key = {"source": "a.t", "target": "b.t", "keycols": ["number"], "colmap": {"columns": {"number": "id"}}}
    history = {"source": "a.u", "target": "b.u", "insert_all_records": True, "keycols": ["id"]}
    made = channel([key, history])
    entries = [made.at("dw").settings(TableName("a", name)).columns for name in ("t", "u")]
    assert [(one.key, sorted(one.extra)) for one in entries] == [
        (("id",), []),
        ((), ["op_position", "op_sequence", "op_type"]),
    ]


@pytest.mark.parametrize(
    ("maps", "tables", "sections", "told"),
    [
        (
            [{"source": "a.*", "target": "b.*", "condition": "x = 1"}],
            [],
            {"restrict": [{"tables": "t", "condition": "y = 1"}]},
            "restrict[0] is for target dw, and so are options of MAP a.*",
        ),
        (
            [{"source": "a.*", "target": "b.*"}],
            [{"table": "a.*", "cols": ["x"]}],
            {"column_properties": [{"columns": "y", "absent": True}]},
            "column_properties[0] is for target dw, and so are options of TABLE a.*",
        ),
        (
            [{"source": "a.*", "target": "b.*", "colmap": {"columns": {"x": "y"}}}],
            [{"table": "a.t", "cols_except": ["y"]}],
            {},
            "MAP a.*: COLMAP maps column y, which TABLE a.t leaves out",
        ),
        (
            [{"source": "a.t", "target": "b.t", "keycols": ["x"], "colmap": {"columns": {"x": "5"}}}],
            [],
            {},
            "MAP a.t: KEYCOLS names column x, which COLMAP computes",
        ),
        (
            [{"source": "a.*", "target": "b.*"}, {"source": "a.t", "target": "b.t", "ignore": ["DELETE"]}],
            [],
            {},
            "MAP a.t: MAP a.* before it lists its tables with other options",
        ),
        (
            [{"source": "b.*", "target": "b.*"}],
            [{"table": "a.*", "condition": "x = 1"}, "A.*"],
            {},
            "TABLE A.*: TABLE a.* before it lists its tables with other options",
        ),
        ([{"source": "a.t", "target": "b.t"}], [{"table": "a.t", "cols": ["x"], "cols_except": ["y"]}], {}, "has COLS"),
        ([{"source": "a.t", "target": "b.t", "condition": "now() > x"}], [], {}, "there are no functions"),
    ],
)
def test_what_can_not_be(maps: list[Any], tables: list[Any], sections: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        channel(maps, tables, **sections)
    assert told in caught.value.message
