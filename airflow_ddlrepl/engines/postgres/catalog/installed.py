"""This module compares what the helper schema consists of with what an activation has installed.

An activation lists what it has installed in the comment on the schema, behind the mark of its version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.quoting import literal

_COMMENT = "SELECT obj_description(to_regnamespace('ddlrepl'), 'pg_namespace')"
_SQL = Path(__file__).with_name("installed.sql").read_text()
_ENABLED = "SELECT evtname, evtenabled::text FROM pg_catalog.pg_event_trigger WHERE evtname LIKE 'ddlrepl\\_%'"
_STATES = {"D": "disabled", "O": "not enabled ALWAYS", "R": "enabled for replicas only"}


@dataclass(frozen=True, slots=True)
class Installed:
    """This value says what there is of the helper schema. digests, versions: as installed.sql tells them, by name."""

    digests: Mapping[str, str]
    versions: Mapping[str, str]


def installed(connection: Connection[Any]) -> Installed:
    """Return what there is of the helper schema now."""
    rows = connection.execute(_SQL.encode()).fetchall()
    return Installed({name: digest for name, digest, _ in rows}, {name: version for name, _, version in rows})


def mark_of(comment: str | None) -> str:
    """Return the mark of the version that wrote the comment on the schema; empty where there is none."""
    return (comment or "").partition("\n")[0]


def list_installed(connection: Connection[Any], mark: str, before: Installed | None = None) -> None:
    """Write the list of what there is now into the comment on the schema.

    before: what there was before this installation, which could not touch the event triggers: what the list had then
    and nobody has touched since stays in it as it was, so that a disabled one is known as such. None: all is new.
    """
    now, known = installed(connection), _listed(connection) if before else {}
    kept = {n: d for n, d in known.items() if before and now.versions.get(n) == before.versions.get(n)}
    listed = {**now.digests, **{n: d for n, d in kept.items() if n in now.digests or n.startswith("event trigger")}}
    lines = [mark, *(f"{digest} {name}" for name, digest in sorted(listed.items()))]
    connection.execute(f"COMMENT ON SCHEMA ddlrepl IS {literal(chr(10).join(lines))}".encode())


def differences(connection: Connection[Any], now: Installed) -> list[str]:
    """Return what is missing or other than installed, one line for each object; none where no list was made."""
    wanted = _listed(connection)
    enabled = dict(connection.execute(_ENABLED.encode()).fetchall()) if wanted else {}
    found: list[str] = []
    for name, digest in wanted.items():
        state = _STATES.get(enabled.get(name.removeprefix("event trigger "), ""))
        if name not in now.digests:
            found.append(f"{name} is missing")
        elif state is not None:
            found.append(f"{name} is {state}")
        elif now.digests[name] != digest:
            found.append(f"{name} is not as it was installed")
    return found


def _listed(connection: Connection[Any]) -> dict[str, str]:
    row = connection.execute(_COMMENT).fetchone()
    lines = str(row[0] if row and row[0] else "").splitlines()[1:]
    return {name: digest for digest, _, name in (line.partition(" ") for line in lines)}
