"""The error queues of a channel's targets: people list them, look into them, run transactions again, or delete them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from airflow_ddlrepl.engines.abilities.lcr_target import QueuedError
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.run.stage import stage
from airflow_ddlrepl.flow.stages import DELETE_ERRORS, RETRY_ERRORS
from airflow_ddlrepl.flow.streams.apply_process.apply import ApplyProcess, apply_process
from airflow_ddlrepl.flow.streams.apply_process.error_queue import (
    ErrorsRetried,
    ShownError,
    chosen,
    delete,
    listed,
    retry,
    shown,
)
from airflow_ddlrepl.flow.streams.apply_process.handlers import Handlers
from airflow_ddlrepl.flow.streams.clients import StreamsClients


@contextmanager
def _queues(run: RunContext) -> Iterator[dict[str, tuple[ApplyProcess, list[QueuedError]]]]:
    """Yield the channel's apply processes with what waits in their error queues, by the target's name."""
    clients = StreamsClients(run)
    with ExitStack() as opened:
        found = {one.name: opened.enter_context(apply_process(clients, one)) for one in clients.section.targets}
        yield {name: (process, list(process.there.errors(process.client.name))) for name, process in found.items()}


def queued_errors(run: RunContext) -> list[dict[str, Any]]:
    """Return the transactions in the error queues of all targets, as the list of errors has them."""
    with _queues(run) as queues:
        return [listed(name, one) for name, (_, errors) in queues.items() for one in errors]


def show_error(run: RunContext, wanted: str) -> ShownError:
    """Return a transaction of an error queue with its messages. wanted: `target/number`, or a number alone.

    Raises ApplyError APL-112 where there is no such one.
    """
    with _queues(run) as queues:
        name, one = chosen({name: errors for name, (_, errors) in queues.items()}, wanted)
        return shown(name, queues[name][0].there, one.number)


@stage(RETRY_ERRORS)
def retry_errors(run: RunContext, wanted: str = "") -> ErrorsRetried:
    """Apply transactions of the error queues again; all, target by target, in the order of their commits.

    wanted: only this one, as `show_error` takes it. Raises ApplyError APL-112 or APL-114.
    """
    started = time.monotonic()
    done: list[str] = []
    messages = 0
    with _queues(run) as queues:
        picked = chosen({name: errors for name, (_, errors) in queues.items()}, wanted) if wanted else None
        for name, (process, errors) in queues.items():
            some = errors if picked is None else [picked[1]] if picked[0] == name else []
            if not some:
                continue
            counts = {one.number: one.messages for one in some}
            with process.writing() as session:
                for number in retry(session, lambda _, of=process: _handlers(of), some):  # type: ignore[misc]
                    done.append(f"{name}/{number}")
                    messages += counts[number]
    return ErrorsRetried(tuple(done), messages, round(time.monotonic() - started, 2))


@stage(DELETE_ERRORS)
def delete_error(run: RunContext, wanted: str) -> ErrorsRetried:
    """Delete a transaction from an error queue: its changes are lost. Raises ApplyError APL-112."""
    with _queues(run) as queues:
        name, one = chosen({name: errors for name, (_, errors) in queues.items()}, wanted)
        with queues[name][0].writing() as session:
            delete(session, [one])
    return ErrorsRetried((f"{name}/{one.number}",), one.messages)


def _handlers(process: ApplyProcess) -> Handlers:
    rules = process.rules
    rules.require_functions()
    return process.handlers(rules)
