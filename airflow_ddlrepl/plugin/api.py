"""The API below /ddlrepl/api has as JSON what the pages show; /ddlrepl/api/openapi.json describes it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from airflow_ddlrepl.plugin.readable_channels import User
from airflow_ddlrepl.plugin.seen import one_channel, one_run, one_table, seen_channels
from airflow_ddlrepl.plugin.table_list import HistoryQuery, TableQuery, table_list

ANSWERS: dict[int | str, dict[str, Any]] = {
    401: {"description": "nobody is logged in"},
    404: {"description": "there is no such channel or table, or the user may not read the channel's DAG"},
}
router = APIRouter(tags=["replication"], responses=ANSWERS)


class Remedy(BaseModel):
    """What helps: a command, or a DAG with the configuration of a run."""

    command: str | None = Field(None, description="to be run in a shell")
    dag: str | None = Field(None, description="to be triggered in Airflow")
    conf: dict[str, Any] | None = Field(None, description="of the run")


class Verdict(BaseModel):
    """How a channel or a target is, in one sentence."""

    level: str = Field(description="good, waiting (for a person), late, bad or unknown")
    sentence: str
    reason: str = ""
    remedy: Remedy


class ChannelSummary(BaseModel, extra="allow"):
    """A channel in the list of all."""

    channel: str
    verdict: Verdict


class TablePage(BaseModel):
    """Tables of a channel, those with trouble first."""

    total: int = Field(description="how many tables fit the question")
    tables: list[dict[str, Any]]


@router.get("/channels")
def channels(user: User) -> list[ChannelSummary]:
    """Return the channels that the user may see, each with its verdict."""
    return [ChannelSummary.model_validate(one) for one in seen_channels(user)]


@router.get("/channels/{channel}")
def channel(channel: str, user: User, query: Annotated[HistoryQuery, Query()]) -> dict[str, Any]:
    """Return one channel: verdicts, positions, what waits for a person, lag over time; without its tables."""
    return {name: value for name, value in one_channel(channel, user, query.hours).items() if name != "tables"}


@router.get("/channels/{channel}/tables")
def tables(channel: str, user: User, query: Annotated[TableQuery, Query()]) -> TablePage:
    """Return tables of a channel, those with trouble first."""
    found = table_list(one_channel(channel, user), query)
    return TablePage(total=found.total, tables=found.rows)


@router.get("/channels/{channel}/tables/{table_id}")
def table(channel: str, table_id: int, user: User) -> dict[str, Any]:
    """Return what has happened to one table, and what became of it at each target."""
    return one_table(channel, table_id, user)


@router.get("/channels/{channel}/runs/{run_id}/sql")
def executed_sql(channel: str, run_id: str, user: User) -> dict[str, Any]:
    """Return the SQL that a run has executed at the targets for schema changes, by stage, target and table."""
    return one_run(channel, run_id, user)
