"""This module defines the tables of ours at a target that apply clients have, and removes what a channel has there."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.engines.postgres.sessions.replication_origin import drop_origins
from airflow_ddlrepl.engines.postgres.target.channel_table import ChannelTable

POSITIONS = ChannelTable(
    "apply_positions",
    """
CREATE TABLE IF NOT EXISTS ddlrepl.apply_positions (
    channel text NOT NULL, client text NOT NULL, feed text NOT NULL, epoch bigint NOT NULL, lsn pg_lsn NOT NULL,
    updated timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (channel, client, feed));
""",
    "updated",
)
INSTANTIATIONS = ChannelTable(
    "instantiations",
    """
CREATE TABLE IF NOT EXISTS ddlrepl.instantiations (
    channel text NOT NULL, client text NOT NULL, source_database text NOT NULL, owner text NOT NULL, name text NOT NULL,
    scn numeric NOT NULL, seen text, PRIMARY KEY (channel, client, source_database, owner, name));
""",
    "scn",
)
MESSAGES = "apply_error_messages"
ERRORS = ChannelTable(
    "apply_errors",
    """
CREATE TABLE IF NOT EXISTS ddlrepl.apply_errors (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, channel text NOT NULL, client text NOT NULL,
    feed text NOT NULL, lsn pg_lsn NOT NULL, xid bigint NOT NULL, committed bigint NOT NULL,
    source_database text NOT NULL, code text NOT NULL, error text NOT NULL, failed integer, messages integer NOT NULL,
    tries integer NOT NULL DEFAULT 1, created timestamptz NOT NULL DEFAULT now());
CREATE TABLE IF NOT EXISTS ddlrepl.apply_error_messages (
    id bigint NOT NULL REFERENCES ddlrepl.apply_errors ON DELETE CASCADE, number integer NOT NULL,
    message json NOT NULL, shape_of integer, shape json, PRIMARY KEY (id, number));
""",
    "created",
)
STORED = (POSITIONS, INSTANTIATIONS, ERRORS)
TABLES = (*(one.name for one in STORED), MESSAGES)


def forget(connection: Any, channel: str) -> None:
    """Remove what is there of the channel, and its replication origins where the role may."""
    for one in STORED:
        one.forget_all(connection, channel)
    drop_origins(connection, channel)
