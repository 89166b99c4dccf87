"""This module has a REST server publish what a transaction of the database has of a window, all or nothing.

The server changes the window's tables in one request. What the database is to have with them is stored as an intent
before it, and done after it: so it is done exactly when the server has done its part, also where the run is killed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from sqlalchemy import Connection

from airflow_ddlrepl.engines.lake.catalog import heads
from airflow_ddlrepl.engines.lake.connection.conflicts import written_meanwhile
from airflow_ddlrepl.engines.lake.connection.database import is_there, reading, writing
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.rest.client import Answer, RestClient, refused, unable
from airflow_ddlrepl.engines.lake.rest.differences import main
from airflow_ddlrepl.engines.lake.rest.intents import (
    Intent,
    add_intent,
    create,
    end_intent,
    noted,
    open_intent,
)
from airflow_ddlrepl.engines.lake.rest.marks import Marks, new_mark
from airflow_ddlrepl.engines.lake.rest.publication import published
from airflow_ddlrepl.errors import DdlReplError, Unreachable, WrittenMeanwhile
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.names import TableName

_UNKNOWN = (404, 405, 501)
"""What a server says of a request that it does not know."""
_PATIENCE, _PAUSE = 10.0, 0.1
"""So many seconds the run of another channel has to end what it has begun, and so long is each pause meanwhile."""


@contextmanager
def publishing(location: str, channel: str, seconds: float | None = None) -> Iterator[Connection]:
    """Open a transaction that writes, at whose end readers see what a window has published in it, all or nothing.

    channel: what tells it from others. Raises WrittenMeanwhile TGT-112, Unreachable CON-124, and what `writing` does.
    """
    place = location_of(location)
    if place.rest is None:
        with writing(location, seconds) as connection:
            yield connection
        return
    marks = Marks(RestClient(place.rest), place)
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
            found = published(connection)
            if found is not None:
                before = marks.now()
                savepoint.rollback()
        if found is not None:
            intent = Intent(new_mark(), channel, found.window, found.steps, writes)
            add_intent(connection, place.catalog, intent)
    if found is not None:
        reach("lake.intent")
        _publish(location, marks, intent, [*found.changes.values(), marks.adding(before, intent.mark, found.window)])


def end_open_intent(location: str, channel: str) -> None:
    """End what a killed run has begun to publish: it is published by now, or never is. Others' runs get time to end it.

    channel: what tells the caller's from others.
    """
    place = location_of(location)
    if place.rest is None or not is_there(location):
        return
    client, since = RestClient(place.rest), dict[int, float]()
    while True:
        with reading(location) as connection:
            intent = open_intent(connection, place.catalog)
        if intent is None:
            return
        waited = time.monotonic() - since.setdefault(intent.mark, time.monotonic())
        if intent.channel != channel and waited < _PATIENCE:
            time.sleep(_PAUSE)
            continue
        _end(location, client, intent, Marks(client, place).decide(intent.mark))


def _publish(location: str, marks: Marks, intent: Intent, changes: list[Any]) -> None:
    """Have the server publish a window, and end its intent. Raises WrittenMeanwhile TGT-112, Unreachable CON-124."""
    client = marks.client
    try:
        for _, name, metadata in intent.steps.made:
            client.add_namespace(name.schema)
            client.register(name, metadata)
    except DdlReplError:
        with suppress(Unreachable):  # the next run does it then
            _end(location, client, intent, False)
        raise
    answer = client.commit(changes)
    reach("lake.published")
    is_published = answer.is_good or (not answer.is_refusal and marks.decide(intent.mark))
    _end(location, client, intent, is_published)
    if not is_published:
        raise _refused(marks, changes[:-1], answer)  # the last one is the mark


def _end(location: str, client: RestClient, intent: Intent, is_published: bool) -> None:
    """Take the steps after a request, and do what the database is to do then."""
    if is_published:
        for uuid, name in intent.steps.dropped:
            if _uuid(client, name) == uuid:
                client.drop(name)
        for uuid, name in intent.steps.hidden:
            if (view := client.view(name)) is not None and view["metadata"]["view-uuid"] == uuid:
                client.drop_view(name)
        for uuid, old, new in intent.steps.renamed:
            if _uuid(client, old) == uuid:
                client.add_namespace(new.schema)
                client.rename(old, new)
        for name, request in intent.steps.shown:
            client.add_namespace(name.schema)
            client.add_view(name, request)
        reach("lake.renamed")
    else:
        for uuid, name, _ in intent.steps.made:
            there = client.table(name)
            if there is not None and there["metadata"]["table-uuid"] == uuid and main(there["metadata"]) is None:
                client.drop(name)
    with writing(location) as connection:
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
