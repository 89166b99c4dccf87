"""The tables of a channel as a list: searched, those with trouble first, in pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field

from airflow_ddlrepl.flow.health.tables import LIVE, trouble

LONGEST = 720
"""Hours: the repository has the history of 30 days."""


class HistoryQuery(BaseModel):
    """Which part of a channel's history is asked for."""

    hours: int = Field(48, ge=1, le=LONGEST, description="the last hours; over 48: one row for each target and hour")


class TableQuery(BaseModel):
    """Which tables of a channel are asked for."""

    q: str = Field("", max_length=200, description="a part of the table's name, or of the reason of its state")
    state: str = Field("", max_length=40, description="the state of the tables; `trouble`: any but live")
    target: str = Field("", max_length=200)
    limit: int = Field(50, ge=1, le=500)
    offset: int = Field(0, ge=0, le=10_000_000)


class PageQuery(TableQuery, HistoryQuery):
    """What the page of a channel is asked for."""


@dataclass(frozen=True)
class TableList:
    """A piece of a list: its rows, how many tables there are in all, and which states and targets they have."""

    rows: list[dict[str, Any]]
    total: int
    states: list[str]
    targets: list[str]


def table_list(health: Mapping[str, Any], query: TableQuery) -> TableList:
    """Return the tables that the query asks for."""
    every: Sequence[dict[str, Any]] = health["tables"]  # those with trouble first
    found = [one for one in every if _fits(one, query)]
    return TableList(
        found[query.offset : query.offset + query.limit],
        len(found),
        sorted({str(one["state"]) for one in every}),
        sorted({str(one["target"]) for one in every}),
    )


def _fits(table: Mapping[str, Any], query: TableQuery) -> bool:
    if query.target and table["target"] != query.target:
        return False
    if query.state == "trouble" and trouble(table) == LIVE:
        return False
    if query.state not in ("", "trouble", table["state"]):
        return False
    part = query.q.casefold()
    return not part or part in str(table["table"]).casefold() or part in str(table["why"]).casefold()
