"""Locations become libpq URLs; passwords are never shown."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg.conninfo
import pytest

from airflow_ddlrepl.config.file.load import read_channel
from airflow_ddlrepl.config.sections.location import redact, resolve
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.errors import ConfigError, Exit
from airflow_ddlrepl.known_engines import ENGINES

SECRET = "p@s/s:w#rd %"


def parts(url: str) -> dict[str, str]:
    return {k: str(v) for k, v in psycopg.conninfo.conninfo_to_dict(url).items()}


def test_a_url_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve("postgresql://a@h:5/d") == "postgresql://a@h:5/d"
    assert resolve("postgres://a@h1:5,h2:6/d?sslmode=require") == "postgresql://a@h1:5,h2:6/d?sslmode=require"
    assert resolve("postgresql://a@[::1]:5/d") == "postgresql://a@[::1]:5/d"
    assert resolve("postgresql:///d?host=/tmp/x&port=77") == "postgresql:///d?host=/tmp/x&port=77"
    monkeypatch.setenv("DB_URL", "postgresql://a@h/d")
    assert resolve("${DB_URL}") == "postgresql://a@h/d"


@pytest.mark.parametrize(
    "value",
    [
        "iceberg:///a/lake.db?warehouse=/b",
        '{"conn_type": "iceberg", "schema": "/a/lake.db", "extra": {"warehouse": "/b"}}',
    ],
)
def test_a_lakes_connection_has_settings_of_its_own(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setitem(ENGINES, "iceberg", "airflow_ddlrepl.engines.lake.engine")
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", value)
    place = location_of(resolve("lake"))
    assert (place.file, place.warehouse) == (Path("/a/lake.db"), "/b")


@pytest.mark.parametrize(
    "value",
    [
        "postgres://me:p%40s%2Fs%3Aw%23rd%20%25@db.example:5433/shop?sslmode=require&cursor=x",
        "postgresql://me:p%40s%2Fs%3Aw%23rd%20%25@db.example:5433/shop?__extra__=%7B%22sslmode%22%3A%22require%22%7D",
        json.dumps(
            {
                "conn_type": "postgres",
                "login": "me",
                "password": SECRET,
                "host": "db.example",
                "port": 5433,
                "schema": "shop",
                "extra": {"sslmode": "require", "cursor": "x"},
            }
        ),
    ],
)
def test_an_airflow_connection_in_every_form(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SHOP_DB", value)
    assert parts(resolve("shop_db")) == {
        "user": "me",
        "password": SECRET,
        "host": "db.example",
        "port": "5433",
        "dbname": "shop",
        "sslmode": "require",
    }


@pytest.mark.parametrize("text", ["shop=postgresql://a:b@h/d\n# x=1\n", '{"shop": "postgresql://a:b@h/d", "x": {}}'])
def test_a_connections_file_is_for_its_owner_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str) -> None:
    file = tmp_path / "connections"
    file.write_text(text)
    file.chmod(0o600)
    monkeypatch.setenv("DDLREPL_CONNECTIONS_FILE", str(file))
    assert resolve("shop") == "postgresql://a:b@h/d"
    file.chmod(0o640)
    with pytest.raises(ConfigError, match="can be read by others"):
        resolve("shop")


@pytest.mark.parametrize(
    ("location", "code"),
    [
        ("nowhere", "CFG-103"),
        ("${NOT_SET_AT_ALL}", "CFG-102"),
        ("mysql://a:geheim@h/d", "CFG-104"),
        ("postgresql://a:ge@heim@h/d", "CFG-104"),
        ("postgresql://a:geheim#x@h/d", "CFG-104"),
        ("postgresql://a:geheim/x@h/d", "CFG-104"),
        ("postgresql://a:12/geheim@h/d", "CFG-104"),
        ("postgresql://a:b@12/geheim@h/d", "CFG-104"),
        ("postgresql://a:b geheim@h/d", "CFG-104"),
        ("postgresql://a@h/d?password=b geheim", "CFG-104"),
        ("what is this geheim", "CFG-104"),
    ],
)
def test_unusable_locations_are_refused_without_the_password(location: str, code: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(location)
    assert caught.value.code == code
    assert "geheim" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("value", ['{"conn_type": "postgres", "password": "geheim"', "[geheim]", '{"extra": "geheim"}'])
def test_a_broken_connection_does_not_show_its_password(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_BAD", value)
    with pytest.raises(ConfigError) as caught:
        resolve("bad")
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://a:b@h/d", "postgresql://a:***@h/d"),
        ("postgresql://a:b@c:d@h/d", "postgresql://a:***@h/d"),
        ("postgresql://a@h/d?password=b&x=1", "postgresql://a@h/d?password=***&x=1"),
        ("host=h password=b user=a", "host=h password=*** user=a"),
        ("host=h password='b c' user=a", "host=h password=*** user=a"),
        ("postgresql://a:${PW}@h/d", "postgresql://a:***@h/d"),
        ("sqlite:////a/b.db", "sqlite:////a/b.db"),
        ("shop", "shop"),
        (
            "no://user of postgresql://a:b@h/d\nand\tmysql://c:d@h",
            "no://user of postgresql://a:***@h/d\nand\tmysql://c:***@h",
        ),
    ],
)
def test_redact(url: str, shown: str) -> None:
    assert redact(url) == shown


@pytest.mark.req("HVR-O-23")
@pytest.mark.parametrize("kind", ["mysql", "snowflake", "jdbc:postgresql", "s3"])
def test_a_location_whose_schema_changes_can_not_be_captured(kind: str) -> None:
    """Its type is named, and which one can."""
    with pytest.raises(
        ConfigError, match=rf"is of type '{kind}'.*(?s:.*)supported are postgresql://…, duckdb"
    ) as caught:
        resolve(f"{kind}://app@there/shop")
    assert caught.value.exit_code is Exit.USAGE


@pytest.mark.parametrize("location", ["ducklake:///data/shop.ducklake", "DuckLake:///data/shop.ducklake"])
def test_a_lake_that_would_lose_values_is_refused_by_name(location: str) -> None:
    with pytest.raises(ConfigError, match=r"CFG-104.*(?s:.*)loses values") as caught:
        resolve(location)
    assert caught.value.exit_code is Exit.USAGE and "duckdb:///" in caught.value.hint


@pytest.mark.parametrize("location", ["postgresql://a:b geheim@h/d", "postgresql://a@h/d?password=b geheim"])
def test_a_location_that_would_be_shown_with_its_password_is_refused(location: str) -> None:
    """`redact` sees the end of a password at a space: descriptions of DAGs show locations."""
    with pytest.raises(ConfigError, match=r"f.yaml:2: source.location: a URL can't contain spaces") as caught:
        read_channel(f'channel: a\nsource: {{location: "{location}", tables: ["*.*"]}}\ntargets: []\n', "f.yaml")
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [
        (None, 0o600, "No such file"),
        (b"\xff", 0o600, "not UTF-8 text"),
        (b"erp=postgresql://a@h/d", 0o644, "can be read by others"),
        (b'{"erp": }', 0o600, "not valid JSON"),
    ],
)
def test_a_file_of_connections_that_can_not_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None, mode: int, message: str
) -> None:
    file = tmp_path / "connections"
    if content is not None:
        file.write_bytes(content)
        file.chmod(mode)
    monkeypatch.setenv("DDLREPL_CONNECTIONS_FILE", str(file))
    with pytest.raises(ConfigError, match=f"CFG-105.*{message}"):
        resolve("erp")
