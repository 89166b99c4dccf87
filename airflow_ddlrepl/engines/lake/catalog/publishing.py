"""This module has another catalog publish what a transaction of the database has of a window.

A REST server changes the window's tables in one request, all or nothing; other catalogs change one after the other.
What the database is to have with them is stored as an intent before it, and done after it: so it is done exactly when
the catalog has done its part, also where the run is killed.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sqlalchemy import Connection

from airflow_ddlrepl.engines.lake.catalog import heads
from airflow_ddlrepl.engines.lake.catalog.intents.intents import (
    Intent,
    add_intent,
    create,
    end_intent,
    noted,
    open_intent,
)
from airflow_ddlrepl.engines.lake.catalog.metadata import content
from airflow_ddlrepl.engines.lake.catalog.piecewise import steps as piecewise_steps
from airflow_ddlrepl.engines.lake.catalog.piecewise.catalogs import catalog_of
from airflow_ddlrepl.engines.lake.catalog.piecewise.publish import NOTHING, Otherwise, Piecewise, noted_writes
from airflow_ddlrepl.engines.lake.connection.conflicts import written_meanwhile
from airflow_ddlrepl.engines.lake.connection.database import is_there, reading, writing
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.rest import publication as rest_publication
from airflow_ddlrepl.engines.lake.rest.client import Answer, RestClient, refused, unable
from airflow_ddlrepl.engines.lake.rest.differences import main
from airflow_ddlrepl.engines.lake.rest.marks import Marks, new_mark
from airflow_ddlrepl.errors import DdlReplError, Unreachable, WrittenMeanwhile
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.names import TableName

_UNKNOWN = (404, 405, 501)
"""What a server says of a request that it does not know."""
_PATIENCE, _PAUSE = 10.0, 0.1
"""So many seconds the run of another channel has to end what it has begun, and so long is each pause meanwhile."""


@contextmanager
def publishing(
    location: str, channel: str, seconds: float | None = None, otherwise: Otherwise = NOTHING
) -> Iterator[Connection]:
    """Open a transaction that writes, at whose end readers see what a window has published in it.

    channel: what tells it from others. otherwise: what the database has of tables that somebody else has changed.
    Raises WrittenMeanwhile TGT-112, Unreachable CON-124, and what `writing` does.
    """
    place, publisher = location_of(location), _publisher(location, otherwise)
    if publisher is None:
        with writing(location, seconds) as connection:
            yield connection
        return
    with ExitStack() as stack:
        connection = stack.enter_context(writing(location, seconds))
        create(connection)
        heads.create(connection)
        while open_intent(connection, place.catalog) is not None:
            stack.close()
            end_open_intent(location, channel)
            connection = stack.enter_context(writing(location, seconds))
        with noted(connection) as writes, connection.begin_nested() as savepoint:
            yield connection
            found = publisher.published(connection)
            if found is not None:
                publisher.look(connection, found)
                savepoint.rollback()
        if found is not None:
            steps = publisher.steps(connection, found)
            intent = Intent(new_mark(), channel, found.window, steps, writes)
            add_intent(connection, place.catalog, intent)
    if found is not None:
        reach("lake.intent")
        publisher.publish(intent, found)


def end_open_intent(location: str, channel: str) -> None:
    """End what a killed run has begun to publish. Others' runs get time to end it.

    channel: what tells the caller's from others.
    """
    place, publisher = location_of(location), _publisher(location)
    if publisher is None or not is_there(location):
        return
    since = dict[int, float]()
    while True:
        with reading(location) as connection:
            intent = open_intent(connection, place.catalog)
        if intent is None:
            return
        waited = time.monotonic() - since.setdefault(intent.mark, time.monotonic())
        if intent.channel != channel and waited < _PATIENCE:
            time.sleep(_PAUSE)
            continue
        publisher.end_begun(intent)


class _Publisher(ABC):
    """A publisher has a catalog publish windows."""

    @abstractmethod
    def published(self, connection: Connection) -> Any:
        """Return what the open transaction is to publish at its end, and forget it there; None: nothing."""

    @abstractmethod
    def look(self, connection: Connection, found: Any) -> None:
        """See how things are before a publication, while the open transaction has the window's writes."""

    @abstractmethod
    def steps(self, connection: Connection, found: Any) -> str:
        """Return what an intent stores of a publication; the open transaction has no writes of the window any more."""

    @abstractmethod
    def publish(self, intent: Intent, found: Any) -> None:
        """Have the catalog publish, and end the intent. Raises WrittenMeanwhile TGT-112, Unreachable CON-124."""

    @abstractmethod
    def end_begun(self, intent: Intent) -> None:
        """End the intent of a killed run: what it was about is published by now, or never is."""


def _publisher(location: str, otherwise: Otherwise = NOTHING) -> _Publisher | None:
    """Return what publishes in the catalog of a lake; None: the database has the catalog."""
    place = location_of(location)
    if place.rest is not None:
        return _AtServer(location, Marks(RestClient(place.rest), place))
    if place.single is not None:
        return _OneByOne(
            location, Piecewise(catalog_of(place, place.single), partial(content, files=place.files)), otherwise
        )
    return None


@dataclass
class _OneByOne(_Publisher):
    """This publisher has a catalog change one table after the other; what was begun is always brought to its end."""

    location: str = field(repr=False)
    piecewise: Piecewise
    otherwise: Otherwise

    def published(self, connection: Connection) -> Any:
        return piecewise_steps.published(connection)

    def look(self, connection: Connection, found: piecewise_steps.Publication) -> None:
        self.piecewise.require_unchanged(found)
        self.otherwise.look(connection, found.steps)

    def steps(self, connection: Connection, found: piecewise_steps.Publication) -> str:
        for step in found.steps:
            step.as_it_was = noted_writes(connection, self.otherwise.as_it_was, step)
            step.unnamed = noted_writes(connection, self.otherwise.unnamed, step)
        return found.to_json()

    def publish(self, intent: Intent, found: piecewise_steps.Publication) -> None:
        if not self._is_published(intent, found):
            raise written_meanwhile(found.steps[0].table)

    def end_begun(self, intent: Intent) -> None:
        self._is_published(intent, piecewise_steps.Publication.from_json(intent.steps))

    def _is_published(self, intent: Intent, found: piecewise_steps.Publication) -> bool:
        besides = self.piecewise.publish(found, partial(self._is_open, intent))
        reach("lake.published")
        with writing(self.location) as connection:
            end_intent(connection, intent, is_published=besides is not None, besides=besides or ())
        return besides is not None

    def _is_open(self, intent: Intent) -> bool:
        with reading(self.location) as connection:
            now = open_intent(connection, location_of(self.location).catalog)
        return now is not None and now.mark == intent.mark


@dataclass
class _AtServer(_Publisher):
    """This publisher has a REST server change all tables in one request."""

    location: str = field(repr=False)
    marks: Marks
    before: Any = None

    @property
    def client(self) -> RestClient:
        """Return what asks the server."""
        return self.marks.client

    def published(self, connection: Connection) -> Any:
        return rest_publication.published(connection)

    def look(self, connection: Connection, found: rest_publication.Publication) -> None:
        self.before = self.marks.now()

    def steps(self, connection: Connection, found: rest_publication.Publication) -> str:
        return found.steps.to_json()

    def publish(self, intent: Intent, found: rest_publication.Publication) -> None:
        changes = [*found.changes.values(), self.marks.adding(self.before, intent.mark, found.window)]
        try:
            for _, name, metadata in found.steps.made:
                self.client.add_namespace(name.schema)
                self.client.register(name, metadata)
        except DdlReplError:
            with suppress(Unreachable):  # the next run does it then
                self._end(intent, is_published=False)
            raise
        answer = self.client.commit(changes)
        reach("lake.published")
        is_published = answer.is_good or (not answer.is_refusal and self.marks.decide(intent.mark))
        self._end(intent, is_published=is_published)
        if not is_published:
            raise _refused(self.marks, changes[:-1], answer)  # the last one is the mark

    def end_begun(self, intent: Intent) -> None:
        self._end(intent, is_published=self.marks.decide(intent.mark))

    def _end(self, intent: Intent, *, is_published: bool) -> None:
        """Take the steps after a request, and do what the database is to do then."""
        steps = rest_publication.Steps.from_json(intent.steps)
        if is_published:
            for uuid, name in steps.dropped:
                if _uuid(self.client, name) == uuid:
                    self.client.drop(name)
            for uuid, name in steps.hidden:
                if (view := self.client.view(name)) is not None and view["metadata"]["view-uuid"] == uuid:
                    self.client.drop_view(name)
            for uuid, old, new in steps.renamed:
                if _uuid(self.client, old) == uuid:
                    self.client.add_namespace(new.schema)
                    self.client.rename(old, new)
            for name, request in steps.shown:
                self.client.add_namespace(name.schema)
                self.client.add_view(name, request)
            reach("lake.renamed")
        else:
            for uuid, name, _ in steps.made:
                there = self.client.table(name)
                if there is not None and there["metadata"]["table-uuid"] == uuid and main(there["metadata"]) is None:
                    self.client.drop(name)
        with writing(self.location) as connection:
            end_intent(connection, intent, is_published=is_published)


def _uuid(client: RestClient, name: TableName) -> str | None:
    found = client.table(name)
    return None if found is None else found["metadata"]["table-uuid"]


def _refused(marks: Marks, changes: Sequence[Any], response: Answer) -> Exception:
    """Return the error of a request that the server has refused, by what its tables are now."""
    for one in changes:
        (schema,), name = one["identifier"]["namespace"], one["identifier"]["name"]
        there = marks.client.table(TableName(schema, name))
        wanted = {each["type"]: each for each in one["requirements"]}
        if there is None or not _is_so(there["metadata"], wanted):
            return written_meanwhile(TableName(schema, name))
    if response.status == 409:
        return WrittenMeanwhile(
            f"a REST server does not take what a run has written: {response.text}",
            code="TGT-112",
            hint="nothing was written; run again: a run starts from what the tables have then",
            retryable=True,
        )
    if response.status in _UNKNOWN:
        return unable(marks.client.server, f"it does not change several tables at one moment: {response.text}")
    return refused(marks.client.server, response)


def _is_so(metadata: Any, wanted: Any) -> bool:
    uuid, ref = wanted["assert-table-uuid"]["uuid"], wanted["assert-ref-snapshot-id"]["snapshot-id"]
    return bool(metadata["table-uuid"] == uuid and main(metadata) == ref)
