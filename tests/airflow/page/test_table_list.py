"""The list of a channel's tables: searched, cut into pieces, those with trouble first."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from airflow_ddlrepl.plugin.channel_page import channel_page
from airflow_ddlrepl.plugin.table_list import PageQuery, TableQuery, table_list


def row(name: str, state: str = "live", **more: Any) -> dict[str, Any]:
    plain = {"table": name, "target": "warehouse", "state": state, "why": "", "since": None, "table_id": 1}
    return {**plain, "may_differ": [], "left_at_source": [], "discarded": 0, **more}


TABLES = [
    row("public.bad", "suspended", why="INT-101: a null value", since="0/10"),
    row("public.odd", may_differ=["since 0/A"]),
    *(row(f"public.t{number:04}", target=f"w{number % 2}") for number in range(5000)),
]
HEALTH = {"tables": TABLES, "source": {"captured": "0/30"}, "history": []}


def names(**asked: Any) -> list[str]:
    return [one["table"] for one in table_list(HEALTH, TableQuery(**asked)).rows]


def test_a_piece_of_the_list_has_so_many_tables_and_says_how_many_there_are() -> None:
    found = table_list(HEALTH, TableQuery(limit=3, offset=2))
    assert [one["table"] for one in found.rows] == ["public.t0000", "public.t0001", "public.t0002"]
    assert (found.total, found.states, found.targets) == (5002, ["live", "suspended"], ["w0", "w1", "warehouse"])


def test_tables_are_searched_by_name_reason_state_and_target() -> None:
    assert names(q="T4999") == ["public.t4999"]
    assert names(q="null value") == ["public.bad"]
    assert names(state="suspended") == ["public.bad"]
    assert names(state="trouble") == ["public.bad", "public.odd"]
    assert names(target="w1", limit=2) == ["public.t0001", "public.t0003"]
    assert names(q="nothing like it") == []


@pytest.mark.parametrize("asked", [{"limit": 0}, {"limit": 501}, {"offset": -1}, {"q": "x" * 201}])
def test_questions_have_limits(asked: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        TableQuery(**asked)


def test_pieces_lead_to_each_other_with_what_was_searched() -> None:
    health = {**HEALTH, "source": None}
    pages = channel_page(health, PageQuery(q="public.t", offset=50))["pages"]
    assert (pages["first"], pages["last"]) == (51, 100)
    assert pages["before"] == "?q=public.t&offset=0#tables"
    assert pages["after"] == "?q=public.t&offset=100#tables"
    last = channel_page(health, PageQuery(q="public.bad"))["pages"]
    assert (last["before"], last["after"]) == ("", "")


def test_the_part_of_the_history_is_chosen_with_what_was_searched() -> None:
    found = channel_page({**HEALTH, "source": None}, PageQuery(q="bad", hours=2))
    spans = {text: (address, is_shown) for text, address, is_shown in found["spans"]}
    assert spans["2 hours"][1] and not spans["30 days"][1]
    assert spans["30 days"][0] == "?hours=720&q=bad#charts"
    with pytest.raises(ValidationError):
        PageQuery(hours=721)
