"""A catch-up changes no table that is further than those it is about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_ddlrepl.adapt.program.program import Program
from airflow_ddlrepl.adapt.program.suspend import CatchUp, family
from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import Suspension, TableState, TableStatus


def state(table_id: int, name: str, status: TableStatus = TableStatus.LIVE) -> TableState:
    return TableState(table_id, TableName("public", name), Table(table_id, TableName("public", name), ()), status)


def test_a_name_that_another_table_has_now_is_refused() -> None:
    catch_up, late, other = CatchUp({1}, Position(100)), state(1, "late"), state(2, "taken")
    with pytest.raises(CannotAdapt, match=r"public\.taken has now") as caught:
        catch_up.require_free(TableName("public", "taken"), late, {1: late, 2: other})
    assert (caught.value.code, caught.value.table) == ("ADP-158", "public.late")
    catch_up.require_free(TableName("public", "free"), late, {1: late, 2: other})


def test_a_name_of_a_table_that_is_suspended_too_needs_that_table() -> None:
    catch_up, late, other = CatchUp({1}, Position(100)), state(1, "late"), state(2, "taken", TableStatus.SUSPENDED)
    with pytest.raises(CannotAdapt, match=r"public\.taken, which is suspended, too") as caught:
        catch_up.require_free(TableName("public", "taken"), late, {1: late, 2: other})
    assert (caught.value.code, caught.value.table) == ("ADP-170", "public.late")


def test_a_table_of_its_own_is_its_family() -> None:
    assert family([state(1, "a"), state(2, "b")], [1]) == {1}


def test_a_table_that_is_brought_up_stays_suspended_until_the_program_ends() -> None:
    """An engine that commits in pieces stores it after each change of its shape."""
    why = Suspension(LogKey(50, 0), Position(60), "INT-105", "no")
    before = {1: replace(state(1, "late", TableStatus.SUSPENDED), suspension=why)}
    catch_up = CatchUp({1}, Position(100))
    program = Program(Position(50), Position(100), (), (), {}, suspension=catch_up.suspension(before))
    after = program.on_the_way(state(1, "renamed"))
    assert (after.state, after.suspension, after.name.name) == (TableStatus.SUSPENDED, why, "renamed")
    calm = Program(Position(50), Position(100), (), (), {})
    assert calm.on_the_way(state(1, "renamed")) == state(1, "renamed")
