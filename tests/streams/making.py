"""Calls of procedures, messages and the battery of messages that tests of rules share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from airflow_ddlrepl.streams.calls.section import StreamsParameters
from airflow_ddlrepl.streams.messages import Command, DdlLcr, Message, MessageClass, RowLcr, UserMessage
from airflow_ddlrepl.streams.procedures.environment import Environment
from airflow_ddlrepl.streams.procedures.run import environment_of
from airflow_ddlrepl.streams.rules.client import Client, ClientKind
from airflow_ddlrepl.streams.rules.decide import Verdict, decide

DBS1 = "DBS1.EXAMPLE.COM"
TYPES = {"strmadmin.region_pri_msg": {"region": "text", "priority": "number", "message": "text"}}


def made(*calls: dict[str, dict[str, Any]], types: dict[str, Any] | None = None, **options: Any) -> Environment:
    """The environment that calls make, each as PROCEDURE: {parameter: value}."""
    return environment_of(
        StreamsParameters.model_validate({"message_types": types or {}, "calls": list(calls)}), **options
    )


def client(environment: Environment, kind: str, name: str) -> Client:
    return environment.clients[ClientKind(kind), name.upper()]


def row(
    table: str,
    command: str = "INSERT",
    old: dict[str, Any] | None = None,
    new: dict[str, Any] | None = None,
    **more: Any,
) -> RowLcr:
    owner, name = table.upper().split(".")
    more.setdefault("source_database", DBS1)
    return RowLcr(owner, name, command=Command(command), old=old or {}, new=new or {}, **more)


def ddl(table: str, command: str = "ALTER TABLE", base: str | None = None, **more: Any) -> DdlLcr:
    """A DDL LCR on an object; base: the table that it belongs to, by default itself when the command says TABLE."""
    owner, name = table.upper().split(".")
    more.setdefault("source_database", DBS1)
    base = base or (table if command.endswith("TABLE") else None)
    owners: tuple[str | None, str | None] = (None, None)
    if base:
        first, second = base.upper().split(".")
        owners = (first, second)
    return DdlLcr(owner, name, command=command, base_owner=owners[0], base_name=owners[1], **more)


def battery(message_class: MessageClass = MessageClass.PERSISTENT) -> dict[str, Message]:
    """B1 to B11: rows of hr.t with k=1 and k=2, a row of hr.u, DDL on hr.t, an index and a schema, others, messages."""
    kind: dict[str, Any] = {"message_class": message_class}
    return {
        "B1": row("hr.t", new={"K": 1}, **kind),
        "B2": row("hr.t", new={"K": 2}, **kind),
        "B3": row("hr.u", new={"K": 1}, **kind),
        "B4": ddl("hr.t", **kind),
        "B5": ddl("hr.ix", "ALTER INDEX", base="hr.u", **kind),
        "B6": DdlLcr("HR", "HR", DBS1, command="ALTER USER", object_type="USER", **kind),
        "B7": row("oe.x", new={"K": 1}, **kind),
        "B8": ddl("oe.x", **kind),
        "B9": UserMessage("OWN.M", {"F": 1}),
        "B10": UserMessage("OWN.M", {"F": 2}),
        "B11": UserMessage("OWN.N", {"F": 1}),
    }


def class_for(kind: str) -> MessageClass:
    return MessageClass.CAPTURED if kind == "capture" else MessageClass.PERSISTENT


def taken(of: Client, messages: Iterable[Message]) -> list[bool]:
    return [decide(of, one).is_taken for one in messages]


def taken_names(of: Client, messages: dict[str, Message]) -> set[str]:
    return {name for name, message in messages.items() if decide(of, message).is_taken}


def verdict(of: Client, message: Message) -> Verdict:
    return decide(of, message)
