"""This module runs a statement of the source's as it was written.

It sets what decides what the names in the statement mean.
"""

from __future__ import annotations

from collections.abc import Iterator

from airflow_ddlrepl.adapt.target_facts import About
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.postgres.connection.settings import MERGE, SAFE_PATH
from airflow_ddlrepl.engines.postgres.ddl.blocks import block
from airflow_ddlrepl.engines.postgres.ddl.types import create_schema
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.sql.lexer import Kind, tokens

OWN_ZONE = f"SET LOCAL TimeZone = {literal(MERGE['timezone']).strip()}"
_ROLE = "$user"  # somebody else at the target


def replayed_text(text: str, path: str, zone: str | None, about: About) -> tuple[str, ...]:
    """Return the statements that run a statement of the source's as it was written, with the source's settings.

    They need a transaction; what our own statements rely on is set again after it.
    """
    named = [t.text for t in tokens(path) if t.kind in (Kind.WORD, Kind.NAME) and t.text not in ("", _ROLE)]
    found = [made for schema in about.schemas for made in create_schema(schema)]
    found.append(f"SET LOCAL search_path = {', '.join(map(quote, named)) or 'pg_catalog'}")
    if zone:
        found.append(f"SET LOCAL TimeZone = {literal(zone).strip()}")
    found += [*_meant("to_regclass", "regclass", about.tables), *_meant("to_regtype", "regtype", about.types)]
    found += [text, SAFE_PATH.replace("SET ", "SET LOCAL ", 1), OWN_ZONE]
    return tuple(found)


def _meant(look: str, kind: str, names: tuple[tuple[str, TableName], ...]) -> Iterator[str]:
    """Yield statements that fail where a name in the text would mean something else here than at the source."""
    for name, wanted in names:
        here = f"pg_catalog.{look}({literal(quote(name)).strip()})"
        there = f"pg_catalog.{look}({literal(qualified(wanted)).strip()})"
        says = literal(f"{name} does not refer to {wanted} at the target").strip()
        yield block(
            f"BEGIN IF {here} IS NULL OR {there} IS NULL OR {here} OPERATOR(pg_catalog.<>) {there} THEN"
            f" RAISE EXCEPTION USING MESSAGE = {says}; END IF; END"
        )
