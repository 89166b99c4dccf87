"""This module has the steps by which a catalog publishes a window, one table after the other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from sqlalchemy import Connection

from airflow_ddlrepl.engines.lake.catalog.intents.intents import Writes
from airflow_ddlrepl.model.names import TableName

_COLLECTED = "ddlrepl_steps"


@dataclass
class Step:
    """A step is what becomes of one table. name: from then on; None: it is dropped. origin: before; None: it is new.

    base, new: the metadata files that it has before and after. uuid: of the table at `base`. snapshot: the newest one
    of `new`, where the window has made it. as_it_was: what the database is to do besides where the step can't be taken,
    because somebody else has changed the table. unnamed: the same where its new name is taken.
    """

    name: TableName | None
    origin: TableName | None
    base: str
    new: str
    uuid: str = ""
    snapshot: int | None = None
    as_it_was: Writes = ()
    unnamed: Writes = ()

    @property
    def table(self) -> TableName:
        """Return the name by which the step is told of."""
        found = self.origin or self.name
        assert found is not None
        return found


@dataclass
class Publication:
    """A publication is the steps of a window, in an order in which a table comes after those whose names it gets.

    renames: the metadata file, old and new name of each, in order.
    """

    window: str = "none"
    steps: list[Step] = field(default_factory=list)
    renames: list[tuple[str, TableName, TableName]] = field(default_factory=list)

    @property
    def now(self) -> dict[TableName, str | None]:
        """Return the metadata file that each table has then, by its name; None: there is none of this name any more."""
        gone = {one.origin: None for one in self.steps if one.origin is not None}
        return {**gone, **{one.name: one.new for one in self.steps if one.name is not None}}

    @classmethod
    def from_json(cls, text: str) -> Publication:
        """Return the publication that `to_json` wrote."""
        data = json.loads(text)
        steps = [Step(**{**one, "name": _name(one["name"]), "origin": _name(one["origin"])}) for one in data["steps"]]
        renames = [(path, TableName(*old), TableName(*new)) for path, old, new in data["renames"]]
        return cls(data["window"], steps, renames)

    def to_json(self) -> str:
        """Return the publication as JSON."""
        return json.dumps(asdict(self))


def publication(connection: Connection) -> Publication:
    """Return what the open transaction is to publish, which can be added to."""
    found: Publication = connection.info.setdefault(_COLLECTED, Publication())
    return found


def published(connection: Connection) -> Publication | None:
    """Return what the open transaction is to publish at its end, and forget it there; None: nothing."""
    found: Publication | None = connection.info.pop(_COLLECTED, None)
    return found if found is not None and found.steps else None


def _name(data: Sequence[str] | None) -> TableName | None:
    return None if data is None else TableName(*data)
