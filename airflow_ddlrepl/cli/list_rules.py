"""List the rules of a file's clients of Oracle Streams, with what each does to messages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from airflow_ddlrepl.cli.explain_rules import parameters_in
from airflow_ddlrepl.cli.terminal import Table
from airflow_ddlrepl.sql.dialect import Dialect
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.procedures.environment import Environment
from airflow_ddlrepl.streams.procedures.run import environment_of
from airflow_ddlrepl.streams.rules.rule import Rule
from airflow_ddlrepl.streams.transformations.declared import in_order

COLUMNS = ("client", "kind", "rule_set", "rule", "declared", "function", "gives")


def list_rules(path: Path, dialect: Dialect) -> Table:
    """Return each rule of each client with its transformations. Raises as `explain_rules` does."""
    case = NameCase.LOWER if dialect is Dialect.POSTGRES else NameCase.UPPER
    return Table(COLUMNS, tuple(_rows(environment_of(parameters_in(path), case))), "the file makes no rules")


def _rows(environment: Environment) -> Iterator[dict[str, Any]]:
    for client in environment.clients.values():
        for word, rules in (("positive", client.positive), ("negative", client.negative)):
            for rule in rules.rules.values() if rules is not None else ():
                yield {"client": client.name, "kind": client.kind.value, "rule_set": word, **_of(rule)}


def _of(rule: Rule) -> dict[str, Any]:
    action = rule.action
    gives = "any number" if action.is_array_function else "one for one"
    return {
        "rule": rule.name,
        "declared": ", ".join(one.procedure for one in in_order(action.declared)),
        "function": action.function,
        "gives": gives if action.function else "",
    }
