"""Rows in the error queues of targets are stored after a stage, for people: keys and errors, and no other values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from airflow_ddlrepl.config.sections.location import CUT, cut, redact
from airflow_ddlrepl.engines.abilities.discarded_rows import DiscardsRows
from airflow_ddlrepl.engines.abilities.lcr_target import LcrTarget, QueuedError
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.admin.discarded import BY_HAND, CODE, CORRECT, LOST
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.streams.apply_process.apply import apply_process
from airflow_ddlrepl.flow.streams.apply_process.error_queue import listed
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.integrate.steps.discarded_row import DiscardedRow
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.repository.stored.health_rows import QueuedRow
from airflow_ddlrepl.streams.apply_message import ApplyMessage
from airflow_ddlrepl.streams.messages import DdlLcr, RowLcr

MOST_ROWS, MOST_TRANSACTIONS, MOST_MESSAGES = 1000, 100, 20
"""So many rows of a target are stored; of an apply process so many transactions, and so many messages of each."""
MOST_READ = 2000
"""The message that failed is looked for among so many of its transaction."""

LONGEST_VALUE, LONGEST_ERROR, LONG = 200, 1000, 40
_ROW = re.compile(r"(Failing row contains \().*", re.DOTALL)
_KEY = re.compile(r"Key \((.+?)\)=\((.*?)\)(?= (?:already|is |conflicts))", re.DOTALL)


def keep_queued_rows(
    run: RunContext, targets: Mapping[str, Mapping[str, Any]], apply: Iterable[Mapping[str, Any]]
) -> None:
    """Store the rows that wait in the error queues of all targets, in place of those before.

    targets, apply: as the status has them. Those of a target that does not answer stay as they were found.
    """
    for target, known in targets.items():
        if not known["unreachable"]:
            has_rows = any(table["discarded"] for table in known["tables"])
            run.repository.set_queued_rows(run.channel.name, target, _discarded(run, target) if has_rows else [])
    for one in apply:
        if not one["unreachable"]:
            found = _of_transactions(run, one["target"]) if one["waiting"] else []
            run.repository.set_queued_rows(run.channel.name, one["target"], found)


def _discarded(run: RunContext, target: str) -> list[QueuedRow]:
    """Return the newest rows that a target discards."""
    place = run.target(target)
    states = place.state().table_states
    rows = [one for one in able(place, DiscardsRows).discarded_rows.newest(MOST_ROWS) if one.table_id in states]
    return [_discarded_row(target, one, str(states[one.table_id].name), states[one.table_id].shape) for one in rows]


def _discarded_row(target: str, row: DiscardedRow, name: str, shape: Table) -> QueuedRow:
    names = _key_names(shape)
    key = dict(zip(names, row.key, strict=True)) if len(names) == len(row.key) else {}
    lost = row.conflict is not None
    content = {
        "kind": "conflict" if lost else "discarded row",
        "table_id": row.table_id,
        "id": "",
        "what": "change" if lost else "row",
        "key": _key(key),
        "code": LOST if lost else CODE,
        "message": error_text(row.reason, key, [v for column, v in row.values.items() if column not in key]),
        "hint": BY_HAND if lost else CORRECT,
        "at": str(row.at),
        "since": row.since.isoformat(timespec="seconds") if row.since else None,
    }
    return QueuedRow(target, name, content)


def _key_names(shape: Table) -> list[str]:
    """Return the names of the key's columns in the order in which a queue has their values: that of the ids."""
    ids = frozenset(shape.key.columns) if shape.key else frozenset()
    return [column.name for column in sorted(shape.columns, key=lambda one: one.id) if column.id in ids]


def _of_transactions(run: RunContext, name: str) -> list[QueuedRow]:
    """Return the changes of rows in the error queue of an apply process; nothing where it can't be read."""
    clients = StreamsClients(run)
    target = next(one for one in clients.section.targets if one.name == name)
    rows: list[QueuedRow] = []
    try:
        with apply_process(clients, target) as process:
            for error in process.there.errors(process.client.name)[:MOST_TRANSACTIONS]:
                rows += _messages(name, process.there, error)
    except DdlReplError as error:
        log.info("target %s: its error queue is not listed: %s", name, redact(str(error)))
    return rows[:MOST_ROWS]


def _messages(target: str, there: LcrTarget, error: QueuedError) -> Iterator[QueuedRow]:
    """Yield the first messages of a transaction that waits, and the one that failed."""
    failed = error.failed.number
    messages = there.messages(error.number, min(MOST_READ, max(MOST_MESSAGES, (failed or 0) + 1)))
    about = listed(target, error)
    hidden = [messages[failed]] if failed is not None and failed < len(messages) else messages
    for number, one in enumerate(messages):
        if number < MOST_MESSAGES or number == failed:
            is_it = failed is None or number == failed
            text = error_text(error.failed.error, _key_of(hidden[0]), _others(hidden)) if is_it else ""
            yield QueuedRow(target, _table(one), {**_message(one, text), **_place(about, error)})


def _place(about: Mapping[str, Any], error: QueuedError) -> dict[str, Any]:
    told = {name: about[name] for name in ("id", "code", "hint", "at")}
    return {**told, "kind": "transaction", "table_id": None, "since": error.since.isoformat(timespec="seconds")}


def _message(one: ApplyMessage, error: str) -> dict[str, Any]:
    message = one.message
    what = str(message.command).lower() if isinstance(message, RowLcr | DdlLcr) else "message"
    waits = "it waits with its transaction, of which another message failed"
    return {"what": what, "key": _key(_key_of(one)), "message": error or waits}


def _table(one: ApplyMessage) -> str:
    message = one.message
    if isinstance(message, RowLcr | DdlLcr):
        return ".".join(filter(None, (message.owner, message.name)))
    return ""


def _key_of(one: ApplyMessage) -> dict[str, str | None]:
    """Return the key of the row that a message is about: as it was before the change, where the message has that."""
    message = one.message
    if not isinstance(message, RowLcr):
        return {}
    values = {**message.new, **message.old}
    return {name: _text_or_none(values[name]) for name in one.key_columns if name in values}


def _others(messages: Sequence[ApplyMessage]) -> list[str | None]:
    """Return the values of columns that are in no key."""
    found: list[str | None] = []
    for one in messages:
        if isinstance(one.message, RowLcr):
            for values in (one.message.old, one.message.new):
                found += [_text_or_none(value) for name, value in values.items() if name not in one.key_columns]
    return found


def _text_or_none(value: Any) -> str | None:
    return None if value is None else str(value)


def _key(key: Mapping[str, str | None]) -> list[dict[str, str | None]]:
    return [{"column": name, "value": None if v is None else cut(v, LONGEST_VALUE)} for name, v in key.items()]


def error_text(text: str, key: Mapping[str, str | None], hidden: Iterable[str | None]) -> str:
    """Return an error without values of rows but those of the key. hidden: texts of the row's other values."""

    def of_key(found: re.Match[str]) -> str:
        return found[0] if set(found[1].split(", ")) <= key.keys() else f"Key ({found[1]})=({CUT})"

    shown = _KEY.sub(of_key, _ROW.sub(rf"\1{CUT})", redact(text)))
    own = frozenset(value for value in key.values() if value)
    for value in sorted({value for value in hidden if value} - own, key=len, reverse=True):
        shown = _without(shown, value, own)
    return cut(shown, LONGEST_ERROR)


def _without(text: str, value: str, own: Collection[str]) -> str:
    """Return a text without a value: quoted, as a word of its own, or cut because it is long."""
    for mark in "\"'":
        text = text.replace(f"{mark}{value}{mark}", f"{mark}{CUT}{mark}")
    if len(value) >= LONG and (at := text.find(value[:LONG])) >= 0:
        return f"{text[:at]}{CUT}"
    if len(value) > 3 and not any(value in one for one in own):
        text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", CUT, text)
    return text
