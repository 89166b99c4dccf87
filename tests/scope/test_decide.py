"""Whether a client takes a change: a channel's capture by the names of tables, a target by its rule sets."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.config.sections.places import Rule, RuleSets
from airflow_ddlrepl.config.sections.scope import Joining, Scope
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.scope.client import Client
from airflow_ddlrepl.scope.decide import ChangeKind, Reason, decide

CAPTURE = Client(Scope(("shop.o*",), ("*.o_tmp",), (Joining("n*"),)))


@pytest.mark.parametrize(
    ("name", "there", "later", "rows"),
    [
        ("shop.orders", Reason.TAKEN, Reason.NOT_NAMED, Reason.TAKEN),
        ("shop.new", Reason.NOT_NAMED, Reason.TAKEN, Reason.TAKEN),
        ("other.new", Reason.NOT_NAMED, Reason.NOT_NAMED, Reason.NOT_NAMED),
        ("shop.o_tmp", Reason.EXCLUDED, Reason.EXCLUDED, Reason.EXCLUDED),
        ("pg_catalog.o_tmp", Reason.EXCLUDED, Reason.EXCLUDED, Reason.EXCLUDED),
        ("ddlrepl.new", Reason.SYSTEM, Reason.SYSTEM, Reason.SYSTEM),
    ],
)
def test_capture_decides_by_name(name: str, there: Reason, later: Reason, rows: Reason) -> None:
    table = TableName(*name.split("."))
    kinds = (ChangeKind.TABLE, ChangeKind.NEW_TABLE, ChangeKind.DML)
    assert tuple(decide(CAPTURE, table, kind).reason for kind in kinds) == (there, later, rows)
    assert decide(CAPTURE, table, ChangeKind.DDL) == decide(CAPTURE, table, ChangeKind.DML)


def test_a_target_has_a_table_when_it_takes_any_change_of_it() -> None:
    only_rows = Client(rules=RuleSets(negative=(Rule(tables=("*.*",), dml=False),)))
    only_shapes = Client(rules=RuleSets(positive=(Rule(tables=("*.*",), dml=False),)))
    nothing = Client(rules=RuleSets(positive=()))
    table = TableName("shop", "orders")
    for kind in (ChangeKind.TABLE, ChangeKind.NEW_TABLE):
        assert decide(only_rows, table, kind).is_taken
        assert decide(only_shapes, table, kind).is_taken
        assert not decide(nothing, table, kind).is_taken
    assert decide(only_rows, table, ChangeKind.DDL).reason is Reason.NEGATIVE_RULE
    assert decide(only_shapes, table, ChangeKind.DML).reason is Reason.NO_POSITIVE_RULE
    assert decide(nothing, table, ChangeKind.TABLE).why == "rules.positive has none for its DML"


def test_a_scope_comes_before_the_rule_sets() -> None:
    client = Client(CAPTURE.scope, RuleSets(negative=(Rule(tables=("*.orders",)),)))
    assert decide(client, TableName("shop", "orders"), ChangeKind.DML).reason is Reason.NEGATIVE_RULE
    assert decide(client, TableName("shop", "o_tmp"), ChangeKind.DML).reason is Reason.EXCLUDED


def test_a_client_without_rules_takes_everything() -> None:
    assert all(decide(Client(), TableName("s", "t"), kind).is_taken for kind in ChangeKind)
