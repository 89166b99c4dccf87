"""`transform` in the channel file: what is accepted, what is refused and with which words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.cli import commands
from airflow_ddlrepl.config.file.load import read_channel
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.errors import ConfigError, Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.settings.table_settings import ColumnName, Values
from tests.config.test_restrict import FILE, JOBS, ORDERS

MASK = {"columns": ["mail"], "function": "rules:masked"}


def channel(*transform: Any, **more: Any) -> Channel:
    sections = {"transform": list(transform), **more}
    return read_channel(FILE + "".join(f"{key}: {json.dumps(value)}\n" for key, value in sections.items()))


def refused(*transform: Any, **more: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        channel(*transform, **more)
    assert caught.value.code == "CFG-101"
    return caught.value.message


def functions(of: Channel, target: str) -> list[str]:
    found = (of.at(target).settings(table).values for table in (ORDERS, JOBS))
    return [one.function if one else "" for one in found]


def test_the_first_that_matches_a_table_at_a_target_decides() -> None:
    found = channel(
        {**MASK, "tables": "sales.*", "targets": "berlin"},
        {**MASK, "tables": ["orders", "customers"], "function": "shop.rules:other"},
        {**MASK, "targets": ["past"], "function": "r:third"},
    )
    assert functions(found, "berlin") == ["rules:masked", ""]
    assert functions(found, "paris") == ["shop.rules:other", ""]
    assert functions(found, "past") == ["shop.rules:other", "r:third"]


def test_what_is_said_of_a_table_holds_its_function() -> None:
    """Where the entry holds is no part of it; the condition and the names stand beside it."""
    names = [{"tables": "orders", "columns": "a", "name": "b"}]
    rows = [{"condition": "a = 1"}]
    found = channel({**MASK, "version": 2}, column_properties=names, restrict=rows)
    settings = found.at("berlin").settings(ORDERS)
    assert settings.values == Values("rules:masked", ("mail",), version="2")
    assert (settings.rows.condition, settings.names.columns) == ("(a = 1)", (ColumnName(("a",), "b"),))
    same = channel({**MASK, "version": "2", "tables": "orders"}, column_properties=names, restrict=rows)
    assert same.at("berlin").settings(ORDERS) == settings
    assert channel(restrict=rows).at("berlin").settings(ORDERS).values is None
    assert channel(MASK).has_properties and not channel().has_properties


@pytest.mark.parametrize(
    "function", ["masked", "rules:", ":masked", "a b:c", "rules:a.b", "rules:a:b", "os.system('x'):y"]
)
def test_a_function_is_a_module_and_a_name(function: str) -> None:
    assert "transform[0].function" in (told := refused({**MASK, "function": function})) and "module:function" in told


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"columns": []}, "transform[0].columns"),
        ({"columns": [""]}, "can be no column's name"),
        ({"reads": []}, "transform[0].reads"),
        ({"targets": "rome"}, "transform[0].targets: there is no target or replay rome"),
        ({"tables": ""}, "can be no table's name"),
        ({"Function": "x:y"}, "transform[0].Function"),
    ],
)
def test_what_an_entry_can_not_say(said: Any, told: str) -> None:
    assert told in refused({**MASK, **said})


@pytest.mark.parametrize("lacking", ["columns", "function"])
def test_columns_and_a_function_are_needed(lacking: str) -> None:
    assert f"transform[0].{lacking}" in refused({key: value for key, value in MASK.items() if key != lacking})


def test_hvrs_own_transformations_are_refused_beside_ours() -> None:
    assert "there is no transformation Command" in refused(MASK, "Command=x")
    assert "can't be used together" in refused(MASK, "SapUnpack", adapt_ddl=["AddTablePattern=*"])


def test_not_together_with_replayed_statements() -> None:
    replayed = [{"tables": ["sales.orders"]}]
    assert "transform[0]" in refused({**MASK, "tables": "orders"}, replay_ddl=replayed)
    assert channel({**MASK, "tables": "jobs"}, replay_ddl=replayed).transform


def test_a_replay_like_a_target_has_its_functions() -> None:
    found = channel({**MASK, "targets": "berlin"}, {**MASK, "targets": "past", "function": "r:other"})
    assert functions(found.with_replay_like("berlin"), "past")[0] == "rules:masked"
    assert functions(found.with_replay_like("paris"), "past") == ["", ""]


def test_check_looks_for_the_functions(tmp_path: Path) -> None:
    """Where it runs, as the driver will."""
    file = tmp_path / "shop.yml"
    for function, is_there in (("tests.support.value_functions:masked", True), ("nowhere:masked", False)):
        file.write_text(FILE + f"transform: {json.dumps([{**MASK, 'function': function}])}\n")
        if is_there:
            assert "is valid" in commands.check(file).text()
        else:
            with pytest.raises(Unsupported, match=r"function nowhere:masked .* can't be imported here") as caught:
                commands.check(file)
            assert caught.value.code == "ADP-156" and "driver" in caught.value.hint


def test_names_of_tables() -> None:
    assert channel({**MASK, "tables": "sales.*"}).at("paris").settings(TableName("hr", "sales")).values is None
