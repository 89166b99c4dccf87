"""People look at the transactions in the error queues of apply clients, run them again, or give them up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_ddlrepl.engines.abilities.lcr_target import LcrSession, LcrTarget, LcrTransaction, QueuedError
from airflow_ddlrepl.errors import ApplyError, NotInErrorQueue
from airflow_ddlrepl.flow.run.results import Printable
from airflow_ddlrepl.flow.streams.apply_process.apply_feed import apply_messages, failed_transaction
from airflow_ddlrepl.flow.streams.apply_process.handlers import Handlers
from airflow_ddlrepl.model.stored_names import TRANSACTION_ID
from airflow_ddlrepl.streams.apply_message import ApplyMessage
from airflow_ddlrepl.streams.messages import RowLcr
from airflow_ddlrepl.visible import as_lines

MOST_SHOWN = 100
"""So many messages of a transaction are shown, and so many rows of the target for one of them."""
MOST_ROWS = 10


@dataclass(frozen=True)
class ErrorsRetried(Printable):
    """This is what another try did: the transactions that are applied now, and how many messages they had."""

    transactions: tuple[str, ...] = ()
    messages: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class ShownError(Printable):
    """A shown error is a transaction of an error queue with its first messages, each beside the target's rows.

    error: what is listed of it. messages: as JSON.
    """

    error: dict[str, Any] = field(default_factory=dict)
    messages: tuple[dict[str, Any], ...] = ()

    def text(self) -> str:
        lines = [f"{name}: {value}" for name, value in self.error.items()]
        for one in self.messages:
            mark = "  <-- failed" if one["failed"] else ""
            lines += ["", f"{one['number']}: {one['command']} {one['object']}{mark}"]
            lines += [f"  {name}: {one[name]}" for name in ("old", "new", "text", "fields", "target") if one.get(name)]
        return as_lines(lines)


def listed(target: str, one: QueuedError) -> dict[str, Any]:
    """Return a transaction of the error queue as the list of errors has it."""
    failed = one.failed
    return {
        "id": f"{target}/{one.number}",
        "created": one.since.isoformat(timespec="seconds"),
        "stage": f"apply {one.client}",
        "code": failed.code,
        "table": "",
        "at": str(failed.lsn),
        "message": f"a transaction of {one.messages} message{'' if one.messages == 1 else 's'} waits: {failed.error}",
        "hint": f"`ddlrepl errors show CHANNEL.yaml {target}/{one.number}`, then `errors retry` or `errors delete` with"
        " this ID",
    }


def shown(name: str, target: LcrTarget, number: int) -> ShownError:
    """Return a transaction of the error queue with its first messages. Raises NotInErrorQueue APL-112: no such one."""
    found = next((one for one in target.errors() if one.number == number), None)
    messages = target.messages(number, MOST_SHOWN)
    assert found is not None
    error = {
        **listed(name, found),
        "messages": found.messages,
        "tries": found.tries,
        TRANSACTION_ID: found.failed.transaction_id,
    }
    return ShownError(error, tuple(_shown(target, found, at, one) for at, one in enumerate(messages)))


def _shown(target: LcrTarget, error: QueuedError, number: int, one: ApplyMessage) -> dict[str, Any]:
    message = one.message
    about: dict[str, Any] = {"number": number, "failed": number == error.failed.number}
    if isinstance(message, RowLcr):
        rows = _rows(target, one, message)
        about |= {"old": dict(message.old), "new": dict(message.new), "target": rows}
    stored = one.to_json()["message"]
    command = stored.get("command", "message")
    name = stored.get("type") or ".".join(filter(None, (stored.get("owner"), stored.get("name"))))
    return {**about, "command": command, "object": name, "text": stored.get("text"), "fields": stored.get("fields")}


def _rows(target: LcrTarget, one: ApplyMessage, lcr: RowLcr) -> list[dict[str, str | None]] | str:
    """Return what the target has of an LCR's row, or why that can't be said."""
    try:
        return target.current_rows(lcr, one.key_columns, MOST_ROWS)
    except ApplyError as error:
        return error.message


def retry(session: LcrSession, handlers: Callable[[str], Handlers], errors: Sequence[QueuedError]) -> Iterator[int]:
    """Apply transactions of the error queue in the order of their commits; yield the number of each that is applied.

    No rules are evaluated, and nothing is transformed again; handlers are called. handlers: by client. Raises
    ApplyError APL-114 at the first one that fails again: its new error is stored, and those behind it wait.
    """
    for one in errors:

        def again(transaction: LcrTransaction, one: QueuedError = one) -> None:
            transaction.take(one.number)
            own = handlers(one.client)
            apply_messages(transaction, own, transaction.messages(one.number))
            own.precommit(transaction, int(one.failed.lsn))
            transaction.flush()
            transaction.delete(one.number)

        try:
            session.run(again)
        except NotInErrorQueue:
            raise
        except ApplyError as error:
            _store_again(session, one, error)
            raise ApplyError(
                f"transaction {one.number} of the error queue fails again: {error.message}",
                code="APL-114",
                table=error.table,
                at=one.failed.lsn,
                hint=f"`ddlrepl errors show CHANNEL.yaml {one.number}` shows it with the target's rows;"
                " those behind it wait",
            ) from error
        yield one.number


def _store_again(session: LcrSession, one: QueuedError, error: ApplyError) -> None:
    failed = one.failed
    facts = (failed.transaction_id, failed.committed, failed.source_database)
    newer = failed_transaction(failed.feed, failed.lsn, error, facts)
    session.run(lambda transaction: transaction.failed_again(one.number, replace(newer)))


def delete(session: LcrSession, errors: Sequence[QueuedError]) -> None:
    """Remove transactions from the error queue; their changes are lost. Raises NotInErrorQueue APL-112: one is gone."""

    def remove(transaction: LcrTransaction) -> None:
        for one in errors:
            transaction.take(one.number)
            transaction.delete(one.number)

    session.run(remove)


def chosen(errors: Mapping[str, Sequence[QueuedError]], wanted: str) -> tuple[str, QueuedError]:
    """Return a target and one of its transactions. errors: by target. wanted: `target/number`, or a number alone.

    Raises NotInErrorQueue APL-112 where it is not clear which one, or there is none.
    """
    name, _, text = wanted.rpartition("/")
    found = [
        (target, one)
        for target, queued in errors.items()
        for one in queued
        if name in ("", target) and str(one.number) == text
    ]
    if len(found) == 1:
        return found[0]
    known = ", ".join(f"{target}/{one.number}" for target, queued in errors.items() for one in queued)
    raise NotInErrorQueue(
        f"{'several targets have' if found else 'there is no'} transaction {wanted} in their error queues",
        code="APL-112",
        hint=f"name one as TARGET/NUMBER: {known}" if known else "`ddlrepl errors list` lists them: there are none",
    )
