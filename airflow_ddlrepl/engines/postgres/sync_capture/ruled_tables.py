"""This module finds the tables that the rules of a synchronous capture are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.streams.evaluation.keys import keys_of
from airflow_ddlrepl.streams.rules.client import Client
from airflow_ddlrepl.streams.rules.rule import Rule


@dataclass(frozen=True, slots=True)
class RuledTable:
    """A ruled table has the rules of a synchronous capture that can be true for it, in their order."""

    name: TableName
    rules: tuple[Rule, ...]


def ruled_tables(client: Client) -> Sequence[RuledTable]:
    """Return the tables that the client's rules are about, by name.

    Raises RuleError RUL-110 for a client that has no positive rule set, RUL-150 for a rule that names no table.
    """
    client.require_ready()
    assert client.positive is not None
    found: dict[TableName, list[Rule]] = {}
    for rule in client.positive.rules.values():
        for name in _tables(rule, client):
            found.setdefault(name, []).append(rule)
    return [RuledTable(name, tuple(rules)) for name, rules in sorted(found.items())]


def _tables(rule: Rule, client: Client) -> list[TableName]:
    keys = keys_of(rule.condition) if rule.variables == {"dml"} else None
    if keys is None or not all(key.of == "object" and key.owner and key.name for key in keys):
        raise RuleError(
            f"synchronous capture {client.name}: rule {rule.name} is not about row changes of tables that it names",
            code="RUL-150",
            hint="use add_table_rules or add_subset_rules, or add `:dml.get_object_owner() = '…' AND"
            " :dml.get_object_name() = '…'` to the condition",
        )
    return [TableName(key.owner, key.name) for key in keys if key.owner and key.name]
