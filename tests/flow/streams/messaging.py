"""A channel whose queue has messages, for the tests of messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow_ddlrepl import flow
from airflow_ddlrepl.flow.streams.dequeue import Dequeued, dequeue
from airflow_ddlrepl.flow.streams.enqueue import Enqueued, enqueue
from tests.flow.streams.streams_channel import BATTERY_TABLES, StreamsChannel, streams_channel

DATABASE = "dbs1"
TYPES = {
    "own.m": {"f": "number"},
    "own.n": {"f": "number"},
    "strmadmin.region_pri_msg": {"region": "text", "priority": "number", "message": "text"},
}
CAPTURE = {"add_global_rules": {"streams_type": "capture", "streams_name": "cap", "queue_name": "q"}}


def row(table: str, k: int, command: str = "INSERT", **more: Any) -> dict[str, Any]:
    return {"object": table, "command": command, "new": {"k": k}, "source_database": DATABASE, **more}


def ddl(name: str, command: str = "ALTER TABLE", **more: Any) -> dict[str, Any]:
    return {"object": name, "command": command, "source_database": DATABASE, "text": f"{command} {name}", **more}


BATTERY: dict[str, dict[str, Any]] = {
    "B1": row("hr.t", 1),
    "B2": row("hr.t", 2),
    "B3": row("hr.u", 1),
    "B4": ddl("hr.t"),
    "B5": ddl("hr.ix", "ALTER INDEX", base="hr.u"),
    "B6": ddl("hr.hr", "ALTER USER", object_type="USER"),
    "B7": row("oe.x", 1),
    "B8": ddl("oe.x"),
    "B9": {"type": "own.m", "fields": {"f": 1}},
    "B10": {"type": "own.m", "fields": {"f": 2}},
    "B11": {"type": "own.n", "fields": {"f": 1}},
}
"""B1 to B11: rows of hr.t with k=1 and k=2, a row of hr.u, DDL on hr.t, an index and a schema, others, messages."""


def rules(level: str, client: str, **more: Any) -> dict[str, dict[str, Any]]:
    """A call that makes rules of a level for a messaging client: `global`, `schema`, `table` or `subset`."""
    place = {
        "global": {},
        "schema": {"schema_name": "hr"},
        "table": {"table_name": "hr.t"},
        "subset": {"table_name": "hr.t", "dml_condition": "k = 1"},
    }[level]
    own = {"streams_type": "dequeue", "streams_name": client, "queue_name": "q", "source_database": DATABASE}
    kinds = {} if level == "subset" else {"include_dml": True, "include_ddl": True}
    return {f"add_{level}_rules": {**place, **own, **kinds, **more}}


def message_rule(client: str, condition: str = ":msg.f = 1", type: str = "own.m", **more: Any) -> dict[str, Any]:
    own = {"streams_type": "dequeue", "streams_name": client, "queue_name": "q"}
    return {"add_message_rule": {"message_type": type, "rule_condition": condition, **own, **more}}


def channel(folder: Path, source: str, *calls: dict[str, Any], **more: Any) -> StreamsChannel:
    """An active channel with a capture process for queue q, and what calls make."""
    found = streams_channel(folder, source, CAPTURE, *calls, message_types=TYPES, **more)
    found.at_source(*BATTERY_TABLES)
    found.activate()
    return found


def put(channel: StreamsChannel, *messages: Any, queue: str = "", connection: Any = None) -> Enqueued:
    """Enqueue messages, and have them captured unless they are in a transaction of somebody's."""
    found: Enqueued = channel.stage(enqueue, messages, queue, connection)
    if connection is None:
        channel.stage(flow.capture)
    return found


def take(channel: StreamsChannel, client: str = "", at_most: int | None = None, *, browse: bool = False) -> Dequeued:
    found: Dequeued = channel.stage(dequeue, client, browse=browse, at_most=at_most)
    return found


def names(found: Dequeued) -> list[str]:
    """Which of the battery these messages are."""
    return [next(name for name, one in BATTERY.items() if one == message) for message in found.written()]
