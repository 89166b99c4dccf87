"""This module makes the tasks of a channel with clients of Oracle Streams: capture, propagations, apply."""

from __future__ import annotations

from typing import Any

from airflow.sdk import TriggerRule

from airflow_ddlrepl.assets import data_asset, schema_asset
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.streams import Streams
from airflow_ddlrepl.operators.capture import CaptureOperator
from airflow_ddlrepl.operators.integrate import IntegrateOperator
from airflow_ddlrepl.operators.propagate import PropagateOperator
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.procedures.run import environment_of
from airflow_ddlrepl.streams.rules.client import Client, ClientKind

# A propagation that fails leaves its messages where they are, and keeps no other client from its own.
GOES_ON = TriggerRule.ALL_DONE_MIN_ONE_SUCCESS


def streams_tasks(channel: Channel, section: Streams, where: str) -> list[Any]:
    """Return the tasks of a cycle, in their order: a propagation comes behind those that fill its queue."""
    capture = CaptureOperator(task_id="capture", channel=where)
    tasks: dict[str, PropagateOperator] = {}
    clients = propagations(section)
    for client in clients:
        tasks[client.name] = PropagateOperator(
            task_id=f"propagate.{task_name(client.name)}",
            channel=where,
            propagation=client.name,
            trigger_rule=GOES_ON,
        )
        capture >> tasks[client.name]
    for before in clients:
        for behind in clients:
            if before.destination == behind.queue and before is not behind:
                tasks[before.name] >> tasks[behind.name]
    assets = [data_asset(channel.name), schema_asset(channel.name)]
    apply = IntegrateOperator(task_id="apply", channel=where, inlets=assets, outlets=assets, trigger_rule=GOES_ON)
    [capture, *tasks.values()] >> apply
    return [capture, *tasks.values(), apply]


def propagations(section: Streams) -> list[Client]:
    """Return the propagations that the channel's calls make. Raises RuleError (RUL-…) as the calls do."""
    environment = environment_of(section, NameCase.LOWER)
    return [client for (kind, _), client in environment.clients.items() if kind is ClientKind.PROPAGATION]


def task_name(name: str) -> str:
    """Return a client's name as a part of a task's id: other characters than letters, digits, _ and - become _."""
    return "".join(one if one.isascii() and (one.isalnum() or one in "_-") else "_" for one in name)
