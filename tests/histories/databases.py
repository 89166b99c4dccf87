"""Databases that are as good as new: emptied, which costs a tenth of making them, and used again some times."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import psycopg

USES = 40
EMPTY = """
DO $do$ DECLARE
    one record;
BEGIN
    PERFORM pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = current_database();
    FOR one IN SELECT evtname FROM pg_event_trigger LOOP EXECUTE format('DROP EVENT TRIGGER %I', one.evtname); END LOOP;
    FOR one IN SELECT pubname FROM pg_publication LOOP EXECUTE format('DROP PUBLICATION %I', one.pubname); END LOOP;
    FOR one IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' LOOP
        EXECUTE format('DROP SCHEMA %I CASCADE', one.nspname);
    END LOOP;
    -- made with search_path = pg_catalog
    FOR one IN SELECT typname FROM pg_type
        WHERE typnamespace = 'pg_catalog'::regnamespace AND oid >= 16384 AND typtype IN ('c', 'd', 'e', 'r') LOOP
        EXECUTE format('DROP TYPE IF EXISTS pg_catalog.%I CASCADE', one.typname);
    END LOOP;
    CREATE SCHEMA public;
END $do$
"""
_free: WeakKeyDictionary[Any, list[tuple[str, int]]] = WeakKeyDictionary()


@contextmanager
def databases(server: Any, count: int) -> Iterator[list[str]]:
    """URLs of so many empty databases of one server. When something goes wrong inside they are not used again."""
    pool = _free.setdefault(server, [])
    taken = [pool.pop() if pool else _new(server) for _ in range(count)]
    left = list(taken)
    try:
        yield [server.dsn(name) for name, _ in taken]
        for name, uses in taken:
            if uses < USES and _is_emptied(server.dsn(name)):
                left.remove((name, uses))
                pool.append((name, uses + 1))
    finally:
        for name, _ in left:
            server.drop_database(name)


def _new(server: Any) -> tuple[str, int]:
    name = f"history_{secrets.token_hex(5)}"
    server.create_database(name)
    return name, 1


def _is_emptied(url: str) -> bool:
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET lock_timeout = '1s'; SET client_min_messages = warning")
            connection.execute(EMPTY)
    except psycopg.Error:
        return False
    return True
