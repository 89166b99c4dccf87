"""Profiles of database systems: what is refused in a file, and what a location of such a type is told."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from airflow_ddlrepl.config.sections.location import resolve
from airflow_ddlrepl.errors import ConfigError, Exit
from airflow_ddlrepl.hvr.ddl_table import ROWS, Ddl
from airflow_ddlrepl.hvr.profile import FOLDER, Profile, of_scheme, profiles

SAID = {
    "adapts_without_refresh": True,
    "refresh_source": "002:214",
    "shows_defaults": True,
    "defaults_source": "002:103",
}
PLAIN: dict[str, Any] = {"name": "x", "title": "X", **SAID}
NOTE = {"statements": ["truncate"], "effect": "unseen", "text": "not captured", "source": "002:225"}


def test_every_file_is_a_profile_and_ours_comes_first() -> None:
    assert {file.stem for file in FOLDER.iterdir()} == profiles().keys()
    assert [name for name, profile in profiles().items() if profile.is_ours] == [next(iter(profiles()))]
    assert all(profile.name == name for name, profile in profiles().items())


def test_a_scheme_means_one_database() -> None:
    schemes = [scheme for profile in profiles().values() for scheme in profile.schemes]
    assert sorted(set(schemes)) == sorted(schemes)
    assert of_scheme("postgresql") is None
    found = of_scheme("MYSQL+pymysql")
    assert found is not None and found.title == "MySQL"


def test_a_profile_like_another_has_its_notes() -> None:
    assert profiles()["aurora_mysql"].notes == profiles()["mysql"].notes
    assert profiles()["aurora_mysql"].schemes == ()


def test_every_note_says_where_it_comes_from() -> None:
    notes = [note for profile in profiles().values() for note in profile.notes]
    page = re.compile(r"002:\d+(-\d+)?|docs/\w+\.md|HVR 6, .+")
    assert [note for note in notes if not page.fullmatch(note.source)] == []
    assert all(re.fullmatch(r"002:2\d\d", row.source) for row in ROWS.values())
    assert set(ROWS) == set(Ddl)


def test_a_key_that_stands_twice_in_a_file_would_hide_the_first() -> None:
    for file in FOLDER.iterdir():
        keys = re.findall(r"^(\w+):", file.read_text(encoding="utf-8"), re.MULTILINE)
        assert len(set(keys)) == len(keys) == len(yaml.safe_load(file.read_text(encoding="utf-8"))), file.name


@pytest.mark.parametrize(
    "wrong",
    [
        {"titel": "X"},
        {"notes": [{**NOTE, "efect": "late"}]},
        {"notes": [{**NOTE, "effect": "maybe"}]},
        {"notes": [{**NOTE, "statements": ["add_colum"]}]},
        {"notes": [{**NOTE, "text": ""}]},
        {"notes": [{**NOTE, "when": {"capture_method": "sql"}}]},
        {"notes": [{**NOTE, "when": {"key": "foreign"}}]},
        {"settings": {"node": ["primary", "standby"]}, "notes": [{**NOTE, "when": {"node": "secondary"}}]},
        {"settings": {"node": ["primary"]}},
        {"settings": {"key": ["primary", "none"]}},
    ],
)
def test_what_a_profile_may_not_say(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Profile.model_validate({**PLAIN, **wrong})


def test_settings_that_a_database_does_not_have() -> None:
    oracle = profiles()["oracle"]
    assert oracle.with_defaults({"capture_method": "logminer"}) == {
        "capture_method": "logminer",
        "version": "11 or newer",
        "hvr_version": "6.2.5/2",
    }
    for settings in ({"capture_method": "telepathy"}, {"node": "primary"}):
        with pytest.raises(ConfigError, match="Oracle has no setting") as caught:
            oracle.with_defaults(settings)
        assert caught.value.code == "CFG-140" and "logminer" in caught.value.hint


@pytest.mark.parametrize(
    ("location", "told"),
    [
        ("oracle://app@there/shop", "LogMiner"),
        pytest.param("mssql://app@there/shop", "Always On", marks=pytest.mark.req("HVR-O-26")),
        ("hana://app@there/shop", "SAP HANA"),
        ("mysql+pymysql://app@there/shop", "MySQL"),
    ],
)
def test_a_database_that_we_cant_replicate_from_is_told_what_adaptddl_does_there(location: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(location)
    assert caught.value.code == "CFG-104" and caught.value.exit_code is Exit.USAGE
    assert told in caught.value.hint and "docs/databases.md" in caught.value.hint


def test_so_is_an_airflow_connection_of_such_a_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_ERP", '{"conn_type": "mssql", "host": "there", "password": "geheim"}')
    with pytest.raises(ConfigError, match="connection 'erp' is of type 'mssql'") as caught:
        resolve("erp")
    assert "SQL Server" in caught.value.hint and "geheim" not in str(caught.value)


def test_a_type_that_no_profile_knows_is_refused_in_one_line() -> None:
    with pytest.raises(ConfigError) as caught:
        resolve("snowflake://app@there/shop")
    assert caught.value.hint.startswith("supported are postgresql://…, duckdb://…") and "\n" not in caught.value.hint


def test_the_page_has_every_database() -> None:
    page = (Path(__file__).parents[2] / "docs/databases.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == [profile.title for profile in profiles().values()]
