"""The connection type "Replication database": its form, its locations, and what its test button says."""

from __future__ import annotations

import json
import secrets
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import psycopg
import pytest
from psycopg import sql

from airflow_ddlrepl.config.sections.location import _LIBPQ, resolve
from airflow_ddlrepl.get_provider_info import CONNECTION_FIELDS, CONNECTION_TYPE
from airflow_ddlrepl.hooks.replication_database import ReplicationDatabaseHook
from tests.conftest import Databases


def connection(url: str, **extra: Any) -> Any:
    """As Airflow's form stores it."""
    from airflow.models.connection import Connection

    parts = urlsplit(url)
    return Connection(
        conn_id="shop_db",
        conn_type=CONNECTION_TYPE,
        host=parts.hostname,
        port=parts.port,
        login=parts.username,
        password=parts.password,
        schema=parts.path.lstrip("/"),
        extra=json.dumps(extra),
    )


def pressed(monkeypatch: pytest.MonkeyPatch, url: str, **extra: Any) -> tuple[bool, str]:
    """What the button says: Airflow puts the form into the environment, and asks the hook of its type."""
    form = connection(url, **extra)
    monkeypatch.setenv("AIRFLOW_CONN_SHOP_DB", form.get_uri())
    found = form.test_connection()
    assert isinstance(found[1], str) and str(urlsplit(url).password) not in found[1]
    return bool(found[0]), found[1]


@pytest.fixture
def poor(databases: Databases) -> Any:
    """A role that may only connect; its URL at the source."""
    name, parts = f"poor_{secrets.token_hex(4)}", urlsplit(databases.source)
    with psycopg.connect(databases.source, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'w0rd-of-the-poor'").format(sql.Identifier(name)))
        yield f"postgresql://{name}:w0rd-of-the-poor@{parts.hostname}:{parts.port}{parts.path}"
        admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


def test_airflow_offers_the_type_with_its_fields() -> None:
    from airflow.providers_manager import ProvidersManager
    from airflow.sdk.providers_manager_runtime import ProvidersManagerTaskRuntime

    manager = ProvidersManager()
    hook = ProvidersManagerTaskRuntime().hooks[CONNECTION_TYPE]
    assert hook is not None and hook.hook_name == "Replication database" and hook.connection_testable
    prefix = f"extra__{CONNECTION_TYPE}__"
    assert {name for name in manager.connection_form_widgets if name.startswith(prefix)} == {
        prefix + name for name in CONNECTION_FIELDS
    }
    assert manager.field_behaviours[CONNECTION_TYPE]["relabeling"]["schema"] == "Database"


def test_the_fields_fit_the_schema_of_providers() -> None:
    from importlib.resources import files

    schema = json.loads((files("airflow") / "provider.yaml.schema.json").read_text(encoding="utf-8"))
    fields = schema["properties"]["connection-types"]["items"]["properties"]["conn-fields"]
    jsonschema.validate(CONNECTION_FIELDS, fields)


def test_each_field_reaches_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    extra = {name: "7" for name in CONNECTION_FIELDS if name != "use"}
    assert set(extra) <= _LIBPQ
    form = connection("postgresql://app:a%40b@db:5433/shop", use="source", **extra)
    wanted = "postgresql://app:a%2540b@db:5433/shop?" + "&".join(f"{name}=7" for name in sorted(extra))
    for stored in (form.get_uri(), form.as_json()):
        monkeypatch.setenv("AIRFLOW_CONN_SHOP_DB", stored)
        assert resolve("shop_db") == wanted
    assert ReplicationDatabaseHook("shop_db").get_conn() == wanted


def test_a_database_that_is_ready(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    for use in ("source", "target", "both", None):
        good, said = pressed(monkeypatch, databases.source, use=use)
        assert good and " answers" in said and "ready" in said, said
        assert ("as a source" in said) == (use != "target") and ("as a target" in said) == (use != "source")


def test_a_role_that_lacks_rights(poor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with the statement that gives it; of a role that may do neither, all of them."""
    good, said = pressed(monkeypatch, poor, use="source")
    assert not good and "REPLICATION;" in said and "GRANT CREATE ON DATABASE" in said and "as a target" not in said
    good, said = pressed(monkeypatch, poor, use="target")
    assert not good and "schemas can't be created" in said and "as a source" not in said
    assert not pressed(monkeypatch, poor)[0]
    with psycopg.connect(poor) as connected:
        assert connected.execute("SELECT count(*) FROM pg_publication").fetchone() == (0,)


def test_a_target_that_could_be_no_source(poor: str, databases: Databases, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a use one of both suffices; the message says which."""
    with psycopg.connect(databases.source, autocommit=True) as admin:
        role, database = urlsplit(poor).username or "", urlsplit(poor).path[1:]
        names = sql.Identifier(database), sql.Identifier(role)
        admin.execute(sql.SQL("GRANT CREATE ON DATABASE {} TO {}").format(*names))
        good, said = pressed(monkeypatch, poor)
        bad, _ = pressed(monkeypatch, poor, use="both")
        admin.execute(sql.SQL("REVOKE CREATE ON DATABASE {} FROM {}").format(*names))
    assert good and not bad and "as a target: ready" in said and "may not use slots" in said


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    good, said = pressed(monkeypatch, "postgresql://app:s3cret-word@127.0.0.1:1/shop", connect_timeout=2)
    assert not good and said.startswith("CON-")
