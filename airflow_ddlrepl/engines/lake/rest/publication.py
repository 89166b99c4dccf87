"""This module collects what a transaction of the database is to have a REST server publish at its end."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from sqlalchemy import Connection

from airflow_ddlrepl.model.names import TableName

_COLLECTED = "ddlrepl_published"


@dataclass
class Steps:
    """These steps a server takes one by one: some before the rows are seen, and some after.

    A table is known by its UUID, wherever it is. made: tables without rows, with their names and metadata files; they
    go again if nothing is published. dropped: names of tables that go. renamed: old and new name of each, in order.
    hidden: views that go before tables get their names. shown: views that come at the end, as the protocol has them.
    """

    made: list[tuple[str, TableName, str]] = field(default_factory=list)
    dropped: list[tuple[str, TableName]] = field(default_factory=list)
    renamed: list[tuple[str, TableName, TableName]] = field(default_factory=list)
    hidden: list[tuple[str, TableName]] = field(default_factory=list)
    shown: list[tuple[TableName, dict[str, Any]]] = field(default_factory=list)

    @classmethod
    def from_json(cls, text: str) -> Steps:
        """Return the steps that `to_json` wrote."""
        data = json.loads(text)
        return cls(
            [(uuid, TableName(*name), path) for uuid, name, path in data["made"]],
            [(uuid, TableName(*name)) for uuid, name in data["dropped"]],
            [(uuid, TableName(*old), TableName(*new)) for uuid, old, new in data["renamed"]],
            [(uuid, TableName(*name)) for uuid, name in data.get("hidden", ())],
            [(TableName(*name), request) for name, request in data.get("shown", ())],
        )

    def to_json(self) -> str:
        """Return the steps as JSON."""
        return json.dumps(asdict(self))


@dataclass
class Publication:
    """A publication is what one request changes, and the steps before and after it. changes: by the name of each.

    now: the metadata file that a table has from then on, by its name; None: it has another name then, or is gone.
    held: names that views leave to tables, all of them until it is known which are shown at the end.
    """

    window: str = "none"
    changes: dict[TableName, Any] = field(default_factory=dict)
    steps: Steps = field(default_factory=Steps)
    now: dict[TableName, str | None] = field(default_factory=dict)
    held: frozenset[TableName] = frozenset()


def publication(connection: Connection) -> Publication:
    """Return what the open transaction is to publish, which can be added to."""
    found: Publication = connection.info.setdefault(_COLLECTED, Publication())
    return found


def published(connection: Connection) -> Publication | None:
    """Return what the open transaction is to publish at its end, and forget it there; None: nothing."""
    found: Publication | None = connection.info.pop(_COLLECTED, None)
    return found if found is not None and (found.changes or found.steps != Steps()) else None
