"""Waiting: how a table stands at a target before its first rows are there."""

from __future__ import annotations

from airflow_ddlrepl.adapt.facts import TargetFacts
from airflow_ddlrepl.adapt.plan import target_shape
from airflow_ddlrepl.adapt.timeline import Standing, State
from airflow_ddlrepl.config.channel import Channel
from airflow_ddlrepl.engines.postgres.present import Present
from airflow_ddlrepl.model.table import Table


def waiting(channel: Channel, target: str, table: Table, present: Present) -> Standing:
    """It waits for a load, under the name and with the shape that it will have there. table: as the source has it."""
    name = channel.target_name(target, table.name)
    facts = TargetFacts(name_after=name, server_version=present.version, extensions=present.extensions)
    return Standing(table.id, name, target_shape(table, facts=facts), State.NEW)
