"""This module makes the tasks of a channel with clients of Oracle Streams: capture, propagations, apply."""

from __future__ import annotations

from typing import Any

from airflow.sdk import TriggerRule

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.operators.capture import CaptureOperator
from airflow_ddlrepl.operators.streams.apply import ApplyOperator
from airflow_ddlrepl.operators.streams.propagate import PropagateOperator
from airflow_ddlrepl.operators.streams.sync_capture import SyncCaptureOperator
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.procedures.run import environment_of
from airflow_ddlrepl.streams.rules.client import Client, ClientKind

# A propagation that fails leaves its messages where they are, and keeps no other client from its own.
GOES_ON = TriggerRule.ALL_DONE_MIN_ONE_SUCCESS


def streams_tasks(channel: Channel, where: str) -> list[Any]:
    """Return the tasks of a cycle, in their order: a propagation comes behind those that fill its queue."""
    captures: list[Any] = []
    section = channel.clients
    if section.captures:
        captures.append(CaptureOperator(task_id="capture", channel=where))
    clients = environment_of(section, NameCase.LOWER).clients.values()
    if any(client.kind is ClientKind.SYNC_CAPTURE for client in clients):
        captures.append(SyncCaptureOperator(task_id="sync_capture", channel=where))
    passing = [client for client in clients if client.kind is ClientKind.PROPAGATION]
    tasks = {client.name: _propagation(client, where) for client in passing}
    for task in tasks.values():
        captures >> task
    for before in passing:
        for behind in passing:
            if before.destination == behind.queue and before is not behind:
                tasks[before.name] >> tasks[behind.name]
    applies = [
        ApplyOperator(task_id=f"apply.{target.name}", channel=where, target=target.name, trigger_rule=GOES_ON)
        for target in section.targets
    ]
    for apply in applies:
        [*captures, *tasks.values()] >> apply
    return [*captures, *tasks.values(), *applies]


def _propagation(client: Client, where: str) -> PropagateOperator:
    task_id = f"propagate.{task_name(client.name)}"
    return PropagateOperator(task_id=task_id, channel=where, propagation=client.name, trigger_rule=GOES_ON)


def task_name(name: str) -> str:
    """Return a client's name as a part of a task's id: other characters than letters, digits, _ and - become _."""
    return "".join(one if one.isascii() and (one.isalnum() or one in "_-") else "_" for one in name)
