"""This module collects what a transaction of the database is to have a REST server publish at its end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from airflow_ddlrepl.engines.lake.rest.intents import Steps
from airflow_ddlrepl.model.names import TableName

_COLLECTED = "ddlrepl_published"


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
