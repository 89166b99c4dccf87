"""List the rules of clients of Oracle Streams, and the tables that they can't support."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from airflow_ddlrepl.cli.commands import with_flow
from airflow_ddlrepl.cli.explain_rules import parameters_in
from airflow_ddlrepl.cli.terminal import Result, Table
from airflow_ddlrepl.sql.dialect import Dialect
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.procedures.environment import Environment
from airflow_ddlrepl.streams.procedures.run import environment_of
from airflow_ddlrepl.streams.rules.rule import Rule
from airflow_ddlrepl.streams.transformations.declared import in_order

_RULES = ("client", "kind", "rule_set", "rule", "declared", "function", "gives")
_UNSUPPORTED = ("client", "kind", "table", "reason", "asked_for")
_NONE_UNSUPPORTED = "every client can get the rows of every table; a column of any type is supported"


def list_rules(path: Path, dialect: Dialect) -> Table:
    """Return each rule of each client of a file with its transformations. Raises as `explain_rules` does."""
    case = NameCase.LOWER if dialect is Dialect.POSTGRES else NameCase.UPPER
    return Table(_RULES, tuple(_rows(environment_of(parameters_in(path), case))), "the file makes no rules")


def list_unsupported(path: Path) -> Result:
    """Return each client's tables whose rows it never gets, why, and whether rules ask for them.

    As DBA_STREAMS_UNSUPPORTED does.
    """
    return with_flow(
        path,
        lambda flow, run: Table(
            _UNSUPPORTED,
            tuple(
                {
                    "client": one.client.name,
                    "kind": one.client.kind.value,
                    "table": str(one.table),
                    "reason": one.why,
                    "asked_for": "yes" if one.is_taken else "no",
                }
                for one in flow.unsupported(run)
            ),
            _NONE_UNSUPPORTED,
        ),
    )


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
