"""Activation prepares a source, twice changes nothing, and deactivation leaves nothing behind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airflow_ddlrepl.config.sections.policies import DdlCapture
from airflow_ddlrepl.config.sections.scope import Joining, Scope
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.source.source import PostgresSource
from airflow_ddlrepl.errors import SourceError
from tests.conftest import Databases

both = pytest.mark.parametrize("databases", [18, 15], indirect=True)
SCOPE = Scope(("*.*",), (), (Joining("*"),))


def _source(dsn: str, name: str = "shop", **more: Any) -> PostgresSource:
    slot = f"{name}_{dsn[-8:]}"
    return PostgresSource(dsn, channel=name, publication=f"p_{name}", slot=slot, **{"scope": SCOPE, **more})


def _traces(dsn: str) -> list[tuple[Any, ...]]:
    """Everything in the catalogs that an activation could touch, with the transaction that wrote it."""
    with connect(dsn) as connection:
        return connection.execute(
            """
            SELECT 'schema', nspname, xmin::text FROM pg_namespace WHERE nspname !~ '^pg_'
            UNION ALL
            SELECT 'relation', relname::text || relreplident::text, xmin::text FROM pg_class WHERE oid >= 16384
            UNION ALL SELECT 'function', proname, xmin::text FROM pg_proc WHERE oid >= 16384
            UNION ALL SELECT 'event trigger', evtname, xmin::text FROM pg_event_trigger
            UNION ALL SELECT 'publication', pubname, xmin::text FROM pg_publication
            UNION ALL SELECT 'published', prrelid::text, xmin::text FROM pg_publication_rel
            UNION ALL SELECT 'slot', slot_name, '' FROM pg_replication_slots WHERE database = current_database()
            ORDER BY 1, 2
            """
        ).fetchall()


def _prepare(dsn: str) -> None:
    with connect(dsn) as user:
        user.execute("CREATE TABLE keyed (id int PRIMARY KEY, v text); CREATE TABLE keyless (v text)")
        user.execute("CREATE TABLE by_index (id int NOT NULL, v text); CREATE UNIQUE INDEX ui ON by_index (id)")
        user.execute("ALTER TABLE by_index REPLICA IDENTITY USING INDEX ui")
        user.execute("CREATE TABLE nothing (v text); ALTER TABLE nothing REPLICA IDENTITY NOTHING")


@both
@pytest.mark.parametrize("ddl", [DdlCapture.TRIGGERS, DdlCapture.RELATIONS])
def test_again_changes_nothing_and_deactivate_leaves_nothing(databases: Databases, ddl: DdlCapture) -> None:
    _prepare(databases.source)
    before = [(kind, name) for kind, name, _ in _traces(databases.source)]
    with _source(databases.source, ddl=ddl) as source:
        first = source.activate()
        assert first.is_new and first.has_triggers == (ddl is DdlCapture.TRIGGERS)
        assert source.membership.unpublished_reasons() == {}
        prepared = _traces(databases.source)
        again = source.activate()
        assert (again.changes, again.is_new, again.position) == ((), False, first.position)
        assert _traces(databases.source) == prepared
        assert len(source.membership.published()) == 4
        source.require_readable()
        source.deactivate()
        assert source.deactivate() == []
    assert [(kind, name) for kind, name, _ in _traces(databases.source)] == before


def test_two_channels_share_a_database(databases: Databases) -> None:
    _prepare(databases.source)
    with _source(databases.source, "one") as one, _source(databases.source, "two") as two:
        one.activate()
        two.activate()
        one.deactivate()
        two.require_readable()
        with connect(databases.source) as user:
            user.execute("INSERT INTO keyless VALUES ('a'); UPDATE keyless SET v = 'b'; DELETE FROM keyless")
            user.execute("CREATE TABLE later (v text); UPDATE later SET v = 'b'")
        assert len(two.membership.published()) == 5
        assert two.deactivate()[-1] == "helper schema ddlrepl dropped"
    assert ("relation", "keylessd") in [(kind, name) for kind, name, _ in _traces(databases.source)]


def test_publication_and_slot_are_mended_by_a_new_activation(databases: Databases) -> None:
    _prepare(databases.source)
    with _source(databases.source) as source, connect(databases.source) as user:
        source.activate()
        user.execute("DROP PUBLICATION p_shop")
        with pytest.raises(SourceError, match="SRC-104"):
            source.require_readable()
        user.execute("CREATE PUBLICATION p_shop FOR TABLE keyed")
        with pytest.raises(SourceError, match="SRC-106"):
            source.require_readable()
        assert source.activate().is_new
        source.require_readable()
        assert len(source.membership.published()) == 4
        user.execute("SELECT pg_drop_replication_slot(%s)", [source.slot])
        with pytest.raises(SourceError, match="SRC-102"):
            source.require_readable()
        assert source.activate().is_new


@both
@pytest.mark.parametrize("is_prepared", [False, True])
def test_open_transactions_are_named_instead_of_waited_for(databases: Databases, is_prepared: bool) -> None:
    _prepare(databases.source)
    with connect(databases.source, autocommit=False, application_name="forgotten") as other:
        other.execute("INSERT INTO keyed VALUES (1)")
        if is_prepared:
            gid = f"gid {databases.source[-8:]}"
            other.execute(f"PREPARE TRANSACTION '{gid}'".encode())
        with _source(databases.source, patience=0.5) as source:
            with pytest.raises(SourceError) as caught:
                source.activate()
            assert caught.value.code == "SRC-110" and caught.value.retryable
            assert ("gid" if is_prepared else "'forgotten'") in caught.value.message
            assert ("COMMIT PREPARED" if is_prepared else "pg_terminate_backend") in caught.value.hint
            other.rollback()
            if is_prepared:
                with connect(databases.source) as user:
                    user.execute(f"ROLLBACK PREPARED '{gid}'".encode())
            assert source.activate().is_new


def test_a_locked_table_is_named(databases: Databases) -> None:
    _prepare(databases.source)
    with connect(databases.source, autocommit=False, application_name="long report") as other:
        other.execute("SELECT * FROM keyless")
        with _source(databases.source, patience=0.1) as source, pytest.raises(SourceError) as caught:
            source.activate()
    assert caught.value.code == "SRC-109" and "long report" in caught.value.message


def test_somebody_elses_slot_is_refused(databases: Databases) -> None:
    with _source(databases.source) as source, connect(databases.source) as user:
        user.execute("SELECT pg_create_logical_replication_slot(%s, 'test_decoding')", [source.slot])
        with pytest.raises(SourceError, match="SRC-107"):
            source.activate()
        source.deactivate()
        assert user.execute("SELECT FROM pg_replication_slots WHERE slot_name = %s", [source.slot]).rowcount == 1


def test_a_narrower_scope_takes_tables_out(databases: Databases) -> None:
    _prepare(databases.source)
    source = _source(databases.source)
    source.activate()
    narrower = replace(source, scope=Scope(("*.*",), ("public.keyless",), (Joining("*"),)))
    assert any("keyless" in change for change in narrower.activate().changes)
    assert len(narrower.membership.published()) == 3
    assert ("relation", "keylessd") in [(kind, name) for kind, name, _ in _traces(databases.source)]
    source.close()
    narrower.close()


def test_a_locked_table_is_named_by_deactivation_and_again_it_is_put_back(databases: Databases) -> None:
    _prepare(databases.source)
    with _source(databases.source, patience=0.1) as source:
        source.activate()
        with connect(databases.source, autocommit=False, application_name="long report") as other:
            other.execute("SELECT * FROM keyless")
            with pytest.raises(SourceError) as caught:
                source.deactivate()
            assert caught.value.code == "SRC-109" and "long report" in caught.value.message
        assert source.deactivate()[-1] == "helper schema ddlrepl dropped"
    assert ("relation", "keylessd") in [(kind, name) for kind, name, _ in _traces(databases.source)]


def test_an_identity_that_its_owner_has_set_since_stays(databases: Databases) -> None:
    _prepare(databases.source)
    with _source(databases.source) as source, connect(databases.source) as user:
        source.activate()
        user.execute("ALTER TABLE keyless ADD id int NOT NULL; CREATE UNIQUE INDEX i ON keyless (id)")
        user.execute("ALTER TABLE keyless REPLICA IDENTITY USING INDEX i")
        source.deactivate()
    assert ("relation", "keylessi") in [(kind, name) for kind, name, _ in _traces(databases.source)]


def test_a_table_that_was_renamed_unseen_is_excluded(databases: Databases) -> None:
    _prepare(databases.source)
    with _source(databases.source, ddl=DdlCapture.RELATIONS) as source, connect(databases.source) as user:
        source.activate()
        user.execute("ALTER TABLE keyed RENAME TO renamed; ALTER TABLE by_index RENAME TO keyed")
        narrower = replace(source, scope=Scope(("*.*",), ("public.keyed", "public.gone"), (Joining("*"),)))
        narrower.activate()
        narrower.close()
        names = user.execute("SELECT tablename FROM pg_publication_tables ORDER BY 1").fetchall()
        assert names == [("keyless",), ("nothing",), ("renamed",)]
