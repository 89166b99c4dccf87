"""These operators enqueue messages and dequeue them; a sensor waits for messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, BaseSensorOperator, Context

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import DdlReplError, LockHeld, MessageError
from airflow_ddlrepl.hooks.connections import connections_file
from airflow_ddlrepl.hooks.turn import later
from airflow_ddlrepl.operators.links import ChannelStatusLink
from airflow_ddlrepl.operators.messages.failure import failed
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.visible import one_line

if TYPE_CHECKING:
    from airflow_ddlrepl.flow.run.context import RunContext

MOST_BYTES = 48 * 1024


class EnqueueOperator(BaseOperator):
    """Put messages into a queue of a channel, in one transaction at the source.

    XCom: messages (how many), queue.

    :param channel: path of the channel file. (templated)
    :param messages: JSON values: user messages with `type` and `fields`, or changes as `ddlrepl rules explain` takes
        them; or a text with one or a list of them. (templated)
    :param queue: empty: that of the capture process. (templated)
    """

    template_fields: Sequence[str] = ("channel", "messages", "queue")
    ui_color = "#d6eaf2"
    operator_extra_links = (ChannelStatusLink(),)

    def __init__(
        self, *, channel: str, messages: str | Sequence[Mapping[str, Any]], queue: str = "", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.channel, self.messages, self.queue = channel, messages, queue

    def execute(self, context: Context) -> dict[str, Any]:
        """Enqueue the messages and return how many; a task that fails has the reason in its log and its XCom."""
        from airflow_ddlrepl.flow.streams.enqueue import enqueue

        try:
            with _run(self.channel, context) as run:
                return enqueue(run, _listed(self.messages), self.queue).to_json()
        except DdlReplError as error:
            raise failed("enqueuing", error, context) from None


class DequeueOperator(BaseOperator):
    """Take messages out of a queue of a channel, as a messaging client of its file.

    XCom: the messages as JSON values; a name that begins with two underscores has quotes, since Airflow reserves some
    of these. They are taken once the XCom is stored; a task that fails before leaves them.

    :param channel: path of the channel file. (templated)
    :param client: name of the messaging client; empty: the channel's only one. (templated)
    :param max_messages: at most so many in one run.
    :param max_bytes: fail, and take nothing, where the messages are longer as JSON: they go into Airflow's database.
    """

    template_fields: Sequence[str] = ("channel", "client")
    ui_color = "#d6eaf2"
    operator_extra_links = (ChannelStatusLink(),)

    def __init__(
        self, *, channel: str, client: str = "", max_messages: int = 100, max_bytes: int = MOST_BYTES, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.channel, self.client = channel, client
        self.max_messages, self.max_bytes = max_messages, max_bytes

    def execute(self, context: Context) -> list[dict[str, Any]]:
        """Return the messages; a task that fails has the reason in its log and its XCom."""
        from airflow_ddlrepl.flow.streams.dequeue import dequeuing

        try:
            with _run(self.channel, context) as run, dequeuing(run, self.client, self.max_messages) as found:
                messages = [_as_xcom(message) for message in found.written()]
                self._require_small(messages)
                if self.do_xcom_push:
                    context["ti"].xcom_push(key="return_value", value=messages)
        except LockHeld as held:
            raise later(held, context) from None
        except DdlReplError as error:
            raise failed("dequeuing", error, context) from None
        for why, count in found.discarded.items():
            self.log.info("discarded %s: %s", count, one_line(why))
        if found.stopped_by is not None:
            self.log.warning("the next message waits: %s", found.stopped_by)
        return messages

    def _require_small(self, messages: list[dict[str, Any]]) -> None:
        size = len(json.dumps(messages))
        if size > self.max_bytes:
            raise MessageError(
                f"{len(messages)} messages take {size:,} bytes of XCom, more than {self.max_bytes:,}; they are left",
                code="MSG-105",
                hint="set max_messages lower or max_bytes higher; large messages are better taken in a task of your own"
                " with airflow_ddlrepl.messaging",
            )


class MessageSensor(BaseSensorOperator):
    """Wait until a messaging client would get a message; it takes none. Captured messages count: a cycle brings them.

    :param channel: path of the channel file. (templated)
    :param client: name of the messaging client; empty: the channel's only one. (templated)

    All parameters of BaseSensorOperator hold, such as `mode="reschedule"` for long waits.
    """

    template_fields: Sequence[str] = ("channel", "client")
    ui_color = "#d6eaf2"
    operator_extra_links = (ChannelStatusLink(),)

    def __init__(self, *, channel: str, client: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.channel, self.client = channel, client

    def poke(self, context: Context) -> bool:
        """Return whether a message is there; a task that fails has the reason in its log and its XCom."""
        from airflow_ddlrepl.flow.streams.dequeue import browsed

        try:
            with _run(self.channel, context) as run:
                return bool(browsed(run, self.client, 1).messages)
        except DdlReplError as error:
            raise failed("waiting for a message", error, context) from None


@contextmanager
def _run(file: str, context: Context) -> Iterator[RunContext]:
    from airflow_ddlrepl.flow.run.context import RunContext

    channel = load_channel(file)
    user = str(getattr(context.get("dag_run"), "triggering_user_name", None) or "")
    with connections_file(channel), RunContext(channel, InProcess(), str(context["run_id"]), user) as run:
        yield run


def _as_xcom(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message in which no name of a column or field is a word of Airflow's own: with it an XCom is an object.

    The names are the same ones: those that would be such words are in quotes.
    """
    return {
        key: {f'"{name}"' if name.startswith("__") else name: one for name, one in value.items()}
        if key in ("fields", "old", "new")
        else value
        for key, value in message.items()
    }


def _listed(messages: str | Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the messages of a parameter, which a template may have made a text. Raises MessageError MSG-106."""
    if not isinstance(messages, str):
        return list(messages)
    try:
        data = json.loads(messages)
    except ValueError as error:
        hint = 'write [{"type": "own.m", "fields": {"f": 1}}]'
        raise MessageError(f"the messages are no JSON: {error}", code="MSG-106", hint=hint) from None
    return data if isinstance(data, list) else [data]
