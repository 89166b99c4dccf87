"""This module finds what a channel would use at a target and what belongs to a role that nobody trusts.

Whoever owns a table reads its rows, and what they put on it (indexes, checks, triggers) runs with the rights of our
role when it writes there; so does the check of a domain, and a function that a trusted owner's index calls. Whoever may
create something in a schema of the target could make an object of the name first that the channel will use.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_ddlrepl.engines.postgres.types.held_texts import encodable, loaded
from airflow_ddlrepl.errors import StrangeOwner
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table_state import TableState
from airflow_ddlrepl.model.types import TypeDefinition

_OWNERS_SQL = Path(__file__).with_name("strangers.sql").read_text()
_GAINS = {
    "TABLE": "reads its rows, and has code run there with the rights of",
    "SEQUENCE": "can set it back, and so have numbers drawn twice, against",
    "SCHEMA": "can put other objects in the place of those of",
    "TYPE": "decides with its checks what is stored, by code that runs with the rights of",
    "FUNCTION": "has it run, by a trigger, an index, a check or a default, with the rights of",
}


@dataclass(frozen=True, slots=True)
class Owned:
    """This value is an object that a table needs, and that a stranger owns.

    table: as it is called at the target. kind: TABLE, SEQUENCE, SCHEMA, TYPE or FUNCTION. what: the object, as SQL.
    role: ours, as SQL.
    """

    table: TableName
    kind: str
    what: str
    owner: str
    role: str

    @property
    def text(self) -> str:
        """Return what is wrong, as a sentence for a person."""
        return f"{self.kind.lower()} {self.what} belongs to {self.owner}, who {_GAINS[self.kind]} {self.role}"

    @property
    def fix(self) -> str:
        """Return what a person can do about it."""
        return (
            f"ALTER {self.kind} {self.what} OWNER TO {self.role}; or drop {self._dropped}; or, if {self.owner} may do"
            f" so, write `trusted_owners: [{json.dumps(self.owner)}]` for the target into the channel file"
        )

    @property
    def _dropped(self) -> str:
        return "what calls it" if self.kind == "FUNCTION" else "it"

    @property
    def error(self) -> StrangeOwner:
        """Return the error of a table that can't be used because of it."""
        return StrangeOwner(self.text, code="ADP-192", table=self.table, hint=self.fix)


def owned_by_strangers(
    cursor: Any, uses: Mapping[TableName, Collection[TypeDefinition]], trusted_roles: Iterable[str]
) -> list[Owned]:
    """Return what these tables need at the target and what belongs to a stranger, by table.

    cursor: of psycopg. uses: for each table, named as at the target, the types that it will have besides those that it
    has. trusted_roles: names of roles that may own something.
    """
    rows: list[tuple[str, str, str | None, str | None]] = []
    for name, types in uses.items():
        keys = {(of.schema, of.name) for of in types}
        rows += [(*name, *key) for key in keys] or [(*name, None, None)]
    if not rows:
        return []
    connection = getattr(cursor, "connection", cursor)
    schemas, names, type_schemas, type_names = (
        [encodable(connection, name) if name else name for name in column] for column in zip(*rows, strict=True)
    )
    found = cursor.execute(
        _OWNERS_SQL.encode(),
        {
            "schemas": schemas,
            "names": names,
            "type_schemas": type_schemas,
            "type_names": type_names,
            "trusted": list(trusted_roles),
        },
    )
    return [
        Owned(TableName(loaded(connection, schema), loaded(connection, name)), *rest)
        for schema, name, *rest in found.fetchall()
    ]


def errors_of(found: Iterable[Owned]) -> dict[TableName, StrangeOwner]:
    """Return for each table the error about the first object that it can't use."""
    errors: dict[TableName, StrangeOwner] = {}
    for one in found:
        errors.setdefault(one.table, one.error)
    return errors


def refuse_strangers(
    cursor: Any, uses: Mapping[TableName, Collection[TypeDefinition]], trusted_roles: Iterable[str]
) -> None:
    """Raise StrangeOwner ADP-192 about the first of these tables that would use what belongs to a stranger."""
    for one in owned_by_strangers(cursor, uses, trusted_roles):
        raise one.error


def uses_of(states: Iterable[TableState]) -> dict[TableName, tuple[TypeDefinition, ...]]:
    """Return, for each table in such a state, the types that it has."""
    return {state.name: state.shape.types for state in states}
