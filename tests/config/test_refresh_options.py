"""The text of refresh options: what it means, what it may not say, and where it stands."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from airflow_ddlrepl.adapt.policy import policy_at
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.config.file.warnings import warnings
from airflow_ddlrepl.config.sections.adapt_actions import AdaptAction
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.hvr.action_text import read_action
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.notation.refresh_options import (
    BULK,
    Difference,
    Granularity,
    RefreshOptions,
    options_for,
    read_options,
)
from tests.support.replica import channel_file

D, U, I = Difference.DELETE, Difference.UPDATE, Difference.INSERT  # noqa: E741


@pytest.mark.req("HVR-P-62")
def test_letters_separated_by_spaces() -> None:
    assert read_options(" -gr  -v -mdi") == RefreshOptions(Granularity.ROW, is_verbose=True, mask=frozenset({D, I}))
    assert read_options("-p3 -gr -f") == RefreshOptions(Granularity.ROW, fires=True, targets=3)
    with pytest.raises(ValueError, match="there is no refresh option -x; known: -gb, -gr, -v"):
        read_options("-gr -x")


@pytest.mark.req("HVR-P-86")
def test_without_a_granularity_it_is_a_bulk_load() -> None:
    assert read_options("") == read_options("  ") == read_options("-gb") == BULK
    assert read_options("-p2") == RefreshOptions(targets=2) and not BULK.is_by_row


@pytest.mark.parametrize("text", ["-v", "-f", "-md", "-gb -v", "-gb -f", "-gb -mi"])
@pytest.mark.req("HVR-P-66")
def test_what_looks_at_single_rows_needs_row_wise(text: str) -> None:
    with pytest.raises(ValueError, match="needs -gr"):
        read_options(text)


@pytest.mark.req("HVR-P-71")
def test_every_mask() -> None:
    for size, masks in ((1, [{D}, {U}, {I}]), (2, [{D, U}, {D, I}, {U, I}]), (3, [{D, U, I}])):
        for letters in permutations("diu", size):
            found = read_options(f"-gr -m{''.join(letters)}").mask
            assert found in masks and {str(kind) for kind in found} == set(letters)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("-gr -m", "is not a mask"),
        ("-gr -mx", "is not a mask"),
        ("-gr -mdd", "is not a mask"),
        ("-gr -mD", "is not a mask"),
        ("-gb -gr", "-g is given twice"),
        ("-gr -v -v", "-v is given twice"),
        ("-gx", "no granularity -gx"),
        ("-g", "no granularity -g"),
        ("-grv", "no granularity -grv"),
        ("-gr -vf", "separated by spaces"),
        ("gr", "no refresh option gr"),
        ("-GR", "no refresh option -GR"),
        ("-p", "not a number of targets"),
        ("-p0", "not a number of targets"),
        ("-p-2", "not a number of targets"),
        ("-", "no refresh option -;"),
        ("-gr, -v", "no granularity -gr,"),
    ],
)
def test_what_it_may_not_say(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read_options(text)


@pytest.mark.req("HVR-P-84")
def test_isolation_does_nothing_at_the_source(tmp_path: Path) -> None:
    text = f"""
channel: shop
source: {{location: "postgresql://h/a", tables: ["*.*"], adapt_ddl: [{{refresh_options: "-inow"}}]}}
targets: [{{name: w, location: "postgresql://h/b"}}]
repository: "sqlite:///{tmp_path}/r.db"
trail: {tmp_path}
"""
    (tmp_path / "c.yml").write_text(text)
    told = warnings(load_channel(tmp_path / "c.yml"))
    assert any("refresh_options does nothing at the source" in line for line in told), told


@pytest.mark.req("HVR-P-83")
def test_isolation_begins_now_or_is_refused() -> None:
    assert read_options("-inow") == read_options("-i") == RefreshOptions(isolates=True)
    assert str(read_options("-gr -i")) == "-gr -inow"
    with pytest.raises(ValueError, match="-ilater is no time to isolate a table at"):
        read_options("-ilater")


@pytest.mark.parametrize("text", ["-gb", "-gr", "-gr -v -f -mdui -p7", "-gr -mi", "-gb -p2"])
def test_it_prints_as_it_was_written(text: str) -> None:
    assert str(read_options(text)) == text


def test_a_persons_options_need_tables() -> None:
    assert options_for([], "") == BULK and options_for(["a.b"], "-gr").is_by_row
    for tables, text, code in (([], "-gr", "CFG-137"), (["a.b"], "-v", "CFG-136")):
        with pytest.raises(ConfigError) as caught:
            options_for(tables, text)
        assert caught.value.code == code and caught.value.hint


def channel(folder: Path, **more: object) -> Channel:
    return load_channel(channel_file(folder, "postgresql://h/s", "postgresql://h/t", **more))


def test_the_first_action_that_says_it_decides(tmp_path: Path) -> None:
    actions = ["Table=t, RefreshOptions=-gr -v", "KeepExistingStructure", "RefreshOptions=-gb -p2"]
    found = channel(tmp_path, adapt_ddl=actions)
    of = {name: str(policy_at(found.at("warehouse"), TableName("public", name)).refresh) for name in ("t", "u")}
    assert of == {"t": "-gr -v", "u": "-gb -p2"}
    assert read_action("RefreshOptions=-gr -mdi") == {"refresh_options": "-gr -mdi"}
    assert AdaptAction(refresh_options="-gr -f").text() == "RefreshOptions=-gr -f"


def test_a_mistake_has_its_place(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"yml:\d+: adapt_ddl\[0\].*refresh option -v needs -gr"):
        channel(tmp_path, adapt_ddl=[{"refresh_options": "-v"}])


def test_warnings(tmp_path: Path) -> None:
    at_source = {"location": "postgresql://h/s", "tables": ["*.*"], "adapt_ddl": [{"refresh_options": "-gr"}]}
    (told,) = warnings(channel(tmp_path, source=at_source))
    assert "source.adapt_ddl[0].refresh_options does nothing at the source" in told
    (told,) = warnings(channel(tmp_path, adapt_ddl=[{"add_table_pattern": "*", "refresh_options": "-gr -mu"}]))
    assert "a mask lets source and target differ" in told
    assert not warnings(channel(tmp_path, adapt_ddl=[{"add_table_pattern": "*", "refresh_options": "-gr -v"}]))
