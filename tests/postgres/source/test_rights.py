"""The roles that docs/postgresql.md describes are enough, and what a lesser one lacks is said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from airflow_ddlrepl.config.sections.policies import DdlCapture
from airflow_ddlrepl.config.sections.scope import Joining, Scope
from airflow_ddlrepl.engines.postgres.catalog.inspect import inspect
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.source.privileges import dangers, missing_rights
from airflow_ddlrepl.engines.postgres.source.source import PostgresSource
from airflow_ddlrepl.errors import SourceError
from tests.conftest import Databases

PAGE = Path(__file__).parents[3] / "docs" / "postgresql.md"
SCOPE = Scope(("*.*",), (), (Joining("*"),))
both = pytest.mark.parametrize("databases", [18, 15], indirect=True)


class Roles:
    """The page's SQL, run on a fresh database under role names of this test's own."""

    def __init__(self, databases: Databases) -> None:
        self.server = databases.server
        self.database = urlsplit(databases.source).path[1:]
        self.superuser = databases.source
        self.made: list[str] = []

    def make(self, title: str) -> str:
        found = re.search(rf"<!-- {title} -->\n```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
        assert found is not None
        sql = (
            found.group(1)
            .replace("DATABASE shop", f"DATABASE {self.database}")
            .replace("GRANT app", f"GRANT {self.app}")
        )
        old = re.search(r"CREATE ROLE (\w+)", sql)
        assert old is not None
        return self._run(sql.replace("'choose one'", f"'{self.server.password}'"), old.group(1))

    def plain(self, attributes: str = "LOGIN") -> str:
        return self._run(f"CREATE ROLE plain {attributes} PASSWORD '{self.server.password}'", "plain")

    @property
    def app(self) -> str:
        return f"app_{self.database}"

    def _run(self, sql: str, old: str) -> str:
        name = f"{old}_{self.database}"
        with connect(self.superuser) as connection:
            connection.execute(re.sub(rf"\b{old}\b", name, sql).encode())
        self.made.append(name)
        return self.server.dsn(self.database, name)

    def remove(self) -> None:
        with connect(self.superuser) as connection:
            for name in self.made:
                connection.execute(f"DROP OWNED BY {name}; DROP ROLE {name}".encode())


@pytest.fixture
def roles(databases: Databases) -> Iterator[Roles]:
    made = Roles(databases)
    with connect(databases.source) as connection:
        connection.execute(f"CREATE ROLE {made.app}; GRANT CREATE ON SCHEMA public TO {made.app}".encode())
        connection.execute(f"SET ROLE {made.app}".encode())
        connection.execute("CREATE TABLE t (id int PRIMARY KEY, v text); CREATE TABLE keyless (v text)")
    made.made.append(made.app)
    yield made
    made.remove()


def _source(dsn: str, **more: Any) -> PostgresSource:
    slot = "s_" + urlsplit(dsn).path[-8:]
    return PostgresSource(dsn, channel="c", publication="p", slot=slot, scope=SCOPE, patience=2, **more)


@both
@pytest.mark.parametrize("title", ["the reading role", "the reading role, narrow"])
def test_a_small_role_reads_what_a_superuser_activated(roles: Roles, title: str) -> None:
    with _source(roles.superuser) as prepared:
        prepared.activate()
        with connect(roles.superuser) as user:
            user.execute("CREATE UNLOGGED TABLE fast (v text)")
            reading = roles.make(title)
            user.execute("CREATE TABLE later (v text); INSERT INTO later VALUES ('a')")
            expected = inspect(user)
        with _source(reading) as source:
            source.require_readable()
            assert missing_rights(source.connection, SCOPE, "p", DdlCapture.TRIGGERS) == []
            assert source.activate().changes == ()
            assert inspect(source.connection) == expected
            assert [name.name for name, _ in source.membership.unpublished_reasons().values()] == ["fast"]
            low, high = source.log.position(), source.stable_end()
            assert source.has_changes(low, high)
            slot = source.slot
            copy = f"{slot}_copy"
            source.connection.execute("SELECT pg_copy_logical_replication_slot(%s, %s, true)", [slot, copy])
            source.connection.execute("SELECT pg_replication_slot_advance(%s, %s::pg_lsn)", [copy, str(high)])
            source.acknowledge(high)
            assert source.connection.execute("SELECT v FROM public.later").fetchall() == [("a",)]
            assert source.membership.maintain() == {}
            with pytest.raises(SourceError, match="SRC-105"):
                source.deactivate()


@both
def test_an_owner_activates_without_event_triggers(roles: Roles) -> None:
    with _source(roles.make("the owning role")) as source:
        assert missing_rights(source.connection, SCOPE, "p", DdlCapture.AUTO) == []
        activation = source.activate()
        assert (
            not activation.has_triggers
            and source.membership.unpublished_reasons() == {}
            and len(source.membership.published()) == 2
        )
        assert source.activate().changes == ()
        with connect(roles.superuser) as user:
            user.execute("UPDATE keyless SET v = 'b'")
        source.require_readable()
        source.deactivate()


def test_triggers_asked_for_without_the_right(roles: Roles) -> None:
    with _source(roles.make("the owning role"), ddl=DdlCapture.TRIGGERS) as source:
        assert [p.what for p in missing_rights(source.connection, SCOPE, "p", DdlCapture.TRIGGERS)] == [
            "event triggers need a superuser"
        ]
        with pytest.raises(SourceError, match="SRC-105") as caught:
            source.activate()
        assert "ddl: relations" in caught.value.hint


def test_an_administrators_publication_is_enough(roles: Roles) -> None:
    with connect(roles.superuser) as user:
        user.execute("CREATE PUBLICATION p FOR TABLE t")
    with _source(roles.make("the reading role")) as source:
        activation = source.activate()
        assert len(activation.changes) == 1 and activation.is_new
        source.require_readable()
        assert len(source.membership.published()) == 1 and source.activate().changes == ()
        source.connection.execute("SELECT pg_drop_replication_slot(%s)", [source.slot])


@both
def test_what_a_role_lacks_comes_with_the_sql_that_gives_it(roles: Roles) -> None:
    with connect(roles.superuser) as user, connect(roles.plain()) as poor:
        user.execute("CREATE SCHEMA hidden; CREATE TABLE hidden.t (v text); ALTER TABLE t ENABLE ROW LEVEL SECURITY")
        assert any("superuser" in p.fix for p in missing_rights(poor, SCOPE, "p", DdlCapture.RELATIONS))
        user.execute(f"ALTER SCHEMA hidden OWNER TO {roles.app}; ALTER TABLE hidden.t OWNER TO {roles.app}".encode())
        rounds = 0
        lacking = partial(missing_rights, poor, SCOPE, "p", DdlCapture.RELATIONS)
        while problems := [problem for problem in lacking() if "publish" not in problem.what]:
            rounds += 1
            assert rounds < 4, problems
            for problem in problems:
                user.execute(problem.fix.encode())
        while problems := lacking():
            rounds += 1
            assert rounds < 4, problems
            for problem in problems:
                assert problem.fix.startswith(("GRANT CREATE ON DATABASE", "-- run `ddlrepl activate --no-refresh`"))
                user.execute(problem.fix.encode())
            user.execute(f"GRANT {roles.app} TO {roles.made[-1]}".encode())  # a decision that no hint makes for anybody
            assert any("is a member of" in p.what and "REVOKE" in p.fix for p in dangers(poor))
    with _source(roles.server.dsn(roles.database, roles.made[-1])) as source:
        source.activate()
        assert source.membership.unpublished_reasons() == {}
        source.deactivate()


def test_a_role_without_any_right_is_told(roles: Roles) -> None:
    with _source(roles.plain()) as source:
        with pytest.raises(SourceError, match="SRC-105") as caught:
            source.activate()
        assert "REPLICATION" in caught.value.hint
    with _source(roles.superuser) as prepared:
        prepared.activate()
    with (
        _source(roles.server.dsn(roles.database, roles.made[-1])) as source,
        pytest.raises(SourceError, match="SRC-105"),
    ):
        source.require_readable()
