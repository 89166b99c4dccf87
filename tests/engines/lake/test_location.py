"""A lake's location says where its catalog and its tables are, and nothing shows its password."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from airflow_ddlrepl.config.sections.location import from_connection, redact
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.errors import ConfigError

SERVER = "iceberg://me:geh%40im@db.example:5433/lakes?warehouse=/wh&name=main&sslmode=require"


def test_a_catalog_in_postgresql() -> None:
    place = location_of(SERVER)
    assert place.jdbc == {
        "uri": "jdbc:postgresql://db.example:5433/lakes?sslmode=require",
        "retryable_status_codes": "57P01,57P02,57P03",
        "jdbc.user": "me",
        "jdbc.password": "geh@im",
    }
    url = place.sql_url
    assert (url.username, url.password, url.host, url.port, url.database) == (
        "me",
        "geh@im",
        "db.example",
        5433,
        "lakes",
    )
    assert (place.file, place.database, place.catalog) == (None, "db.example:5433/lakes", "main")
    assert place.warehouse == "/wh"
    assert "geh" not in repr(place) and "geh" not in place.spark_catalog


def test_java_gets_the_login_that_python_takes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGUSER", "somebody")
    monkeypatch.setenv("PGPASSWORD", "secret")
    place = location_of("iceberg://[::1]/lakes?warehouse=/wh")
    assert place.jdbc == {
        "uri": "jdbc:postgresql://[::1]:5432/lakes",
        "retryable_status_codes": "57P01,57P02,57P03",
        "jdbc.user": "somebody",
        "jdbc.password": "secret",
    }


def test_a_file_has_a_warehouse_beside_it() -> None:
    place = location_of("iceberg:///data/catalog.db?catalog=jdbc")
    assert (place.file, place.warehouse) == (Path("/data/catalog.db"), "/data/warehouse")
    assert place.jdbc == {"uri": "jdbc:sqlite:/data/catalog.db", "jdbc.busy_timeout": "30000"}
    assert place.spark_catalog == "ddlrepl_35035f97b78d"  # as entries of earlier versions have it


CLIENT = {"conn_type": "iceberg", "login": "me", "password": "geh@im/1"}
STORE = {"s3.endpoint": "http://s3:9000", "s3.region": "eu", "s3.access-key-id": "id", "s3.secret-access-key": "x+y"}


def connected(host: str, **extra: str) -> str:
    """The location of a connection as Airflow's provider for Iceberg has it."""
    return from_connection(json.dumps({**CLIENT, "host": host, "extra": json.dumps(extra)}), "my_lake")


def test_a_connection_of_airflows_provider_names_a_rest_server() -> None:
    text = connected("https://cat.example/Ws/v1/", warehouse="s3://bucket/wh", ddlrepl_state="/d/state.db", **STORE)
    place = location_of(text)
    assert (place.file, place.warehouse) == (Path("/d/state.db"), "s3://bucket/wh") and place.rest is not None
    wanted = {"uri": "https://cat.example/Ws/v1", "warehouse": "s3://bucket/wh", "credential": "me:geh@im/1"}
    assert place.rest.properties.items() >= wanted.items()
    assert place.files.properties["s3.secret-access-key"] == "x+y" and place.files.properties["s3.endpoint"]
    assert "geh" not in redact(text) and "x+y" not in redact(text) and "x%2By" not in redact(text)
    server = "postgresql://app:pw4711@db:5433/states"
    text = connected("http://cat", warehouse="wh", ddlrepl_warehouse="/wh", ddlrepl_state=server, scope="all")
    place = location_of(text)
    assert "pw4711" not in redact(text)
    assert (place.database, place.warehouse) == ("db:5433/states", "/wh") and place.rest is not None
    assert (place.rest.properties["scope"], place.rest.properties["warehouse"]) == ("all", "wh")
    assert location_of(from_connection("iceberg://me:pw@https%3A%2F%2Fcat%2FWs?ddlrepl_state=%2Fd%2Fs.db", "l")).rest


def test_a_connection_of_airflows_provider_names_an_sql_catalog() -> None:
    """PyIceberg finds its tables under the connection's id."""
    place = location_of(connected("sqlite:////data/lake.db", type="sql", warehouse="file:///data/wh"))
    assert (place.file, place.warehouse, place.catalog) == (Path("/data/lake.db"), "/data/wh", "my_lake")
    place = location_of(connected("postgresql+psycopg2://app:pw@db/lakes", type="sql", warehouse="/wh", name="other"))
    assert (place.database, place.jdbc["jdbc.user"], place.catalog) == ("db:5432/lakes", "app", "other")


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ({}, 'my_lake.*add "ddlrepl_state" to its extra'),
        ({"type": "glue"}, 'add "ddlrepl_state" to its extra'),
        (
            {"type": "glue", "ddlrepl_state": "/s.db", "warehouse": "/wh", "glue.max-retries": "3"},
            "no setting glue.max",
        ),
        (
            {"type": "glue", "ddlrepl_state": "/s.db", "glue.region": "a", "s3.region": "b"},
            "says the region of a lake twice",
        ),
        ({"type": "dynamodb"}, "no kind of catalog dynamodb"),
        ({"ddlrepl_state": "/d/state.db", "s3.colour": "red"}, "no setting s3.colour"),
    ],
)
def test_what_a_connection_of_airflows_provider_can_not_mean_is_refused(extra: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        location_of(connected("https://cat.example", **extra))
    assert raised.value.code == "CFG-104" and re.search(said, str(raised.value), re.DOTALL), raised.value
    assert "geh" not in str(raised.value)


OF_GLUE = {"glue.region": "eu", "glue.endpoint": "https://glue.example", "glue.id": "4711", "glue.skip-archive": "true"}


def test_a_connection_of_airflows_provider_names_aws_glue() -> None:
    """It has no host; one that it has is the provider's default."""
    said = {"type": "glue", "ddlrepl_state": "/d/state.db", "warehouse": "s3://bucket/wh", **OF_GLUE}
    login = {"client.access-key-id": "id", "client.secret-access-key": "x+y", "client.session-token": "t+u"}
    for host in ("", "https://api.example/ws/v1"):
        text = connected(host, **said, **login)
        place = location_of(text)
        assert (place.file, place.warehouse) == (Path("/d/state.db"), "s3://bucket/wh") and place.single is not None
        assert place.single.kind == "glue" and place.single.properties == {
            "glue.endpoint": "https://glue.example",
            "glue.id": "4711",
            "client.region": "eu",
            "client.access-key-id": "id",
            "client.secret-access-key": "x+y",
            "client.session-token": "t+u",
        }
        assert place.files.properties["s3.secret-access-key"] == "x+y"
        for shown in (redact(text), repr(place)):
            assert not any(secret in shown for secret in ("geh", "x+y", "x%2By", "t+u", "t%2Bu")), shown


def test_a_catalog_in_aws_glue(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its login is that of the object store; what the location does not say, the environment does."""
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    place = location_of(
        "iceberg:///d/s.db?catalog=glue&warehouse=/wh&region=eu&glue_catalog=47&access_key=id&secret=x%2By"
    )
    assert place.single is not None and place.single.properties == {
        "client.region": "eu",
        "client.access-key-id": "id",
        "client.secret-access-key": "x+y",
        "glue.id": "47",
    }
    assert (place.catalog, place.tables) == ("glue 47 eu", "/wh") and "x+y" not in repr(place)
    assert place.single.redacted("x+y at\nhttps://me:pw@glue") == "*** at https://me:***@glue"
    monkeypatch.setenv("AWS_REGION", "us")
    place = location_of("iceberg:///d/s.db?catalog=glue&warehouse=s3://bucket/wh")
    assert place.single is not None and place.single.properties == {"client.region": "us"} and place.catalog == "glue"


def test_a_warehouse_in_an_object_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")
    place = location_of("iceberg:///data/catalog.db?warehouse=s3://bucket/wh/&region=eu&access_key=id&secret=x%2By")
    assert (place.warehouse, place.staging_folder) == ("s3://bucket/wh", "s3://bucket/wh/ddlrepl_staging")
    assert {name: value for name, value in place.files.properties.items() if "impl" not in name} == {
        "s3.endpoint": "http://127.0.0.1:9000",
        "s3.path-style-access": "true",
        "client.region": "eu",
        "s3.access-key-id": "id",
        "s3.secret-access-key": "x+y",
    }
    assert "x+y" not in repr(place) and "x+y" not in repr(place.files)
    assert "x%2By" not in redact("iceberg:///data/catalog.db?warehouse=s3://bucket/wh&secret=x%2By&token=x%2By")


REST = "iceberg:///data/state.db?catalog=rest&uri=https://me:pw1@rest:8181&warehouse=s3://bucket/wh&access_key=id"


def test_a_catalog_that_a_rest_server_has() -> None:
    location = f"{REST}&secret=pw2&rest_warehouse=main&rest_token=pw3&credential=pw4&signing_name=glue&region=eu"
    place = location_of(location)
    assert place.rest is not None and place.rest.properties == {
        "uri": "https://me:pw1@rest:8181",
        "warehouse": "main",
        "token": "pw3",
        "credential": "pw4",
        "oauth2-server-uri": "https://me:pw1@rest:8181/v1/oauth/tokens",
        "rest.sigv4-enabled": "true",
        "rest.signing-name": "glue",
        "client.region": "eu",
        "client.access-key-id": "id",
        "client.secret-access-key": "pw2",
    }
    assert (place.file, place.catalog) == (Path("/data/state.db"), "https://me:***@rest:8181 main")
    assert not any(secret in f"{place!r} {redact(location)}" for secret in ("pw1", "pw2", "pw3", "pw4"))


def test_a_catalog_that_changes_one_table_at_a_time() -> None:
    place = location_of("iceberg:///data/state.db?catalog=hadoop&warehouse=/data/wh")
    assert (place.file, place.catalog) == (Path("/data/state.db"), "hadoop /data/wh") and place.single is not None
    assert (place.tables, place.staging_folder) == ("/data/wh/ddlrepl_tables", "/data/wh/ddlrepl_staging")


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("iceberg://db/lakes", "names its warehouse"),
        ("iceberg://db?warehouse=/wh", "names no database"),
        ("iceberg://db:x/lakes?warehouse=/wh", "port"),
        ("iceberg://db/lakes?warehouse=wh", "absolute path"),
        ("iceberg:///catalog.db?format_version=1", "is 2 or 3, not 1"),
        ("iceberg:///catalog.db?warehouse=gs://bucket/wh", "absolute path, or s3://"),
        ("iceberg:///catalog.db?warehouse=/wh&secret=x", "no setting secret"),
        ("iceberg:///catalog.db?sslmode=require", "no setting sslmode"),
        ("iceberg:///catalog.db?catalog=nessie", "no kind of catalog nessie"),
        ("iceberg://db/lakes?catalog=rest&warehouse=/wh", "names its `uri`"),
        ("iceberg://db/lakes?uri=http://x&warehouse=/wh", "no setting uri"),
        ("iceberg://db/lakes?catalog=hive&warehouse=/wh&uri=http://h", "names its `uri`"),
        ("iceberg://db/lakes?catalog=glue", "names its warehouse"),
        ("iceberg:///state.db?catalog=glue&warehouse=s3://b/wh&uri=http://h", "no setting uri"),
        ("iceberg:///state.db?warehouse=/wh&glue_catalog=1", "no setting glue_catalog"),
        ("iceberg:///state.db?catalog=hadoop&warehouse=s3://b/wh", "not written to in an object store"),
        ("iceberg:///state.db?catalog=hadoop&uri=thrift://h", "no setting uri"),
    ],
)
def test_what_is_no_location_is_refused(location: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as raised:
        location_of(location)
    assert raised.value.code == "CFG-104"
