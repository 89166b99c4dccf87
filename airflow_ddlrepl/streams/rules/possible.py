"""This module tells which actions a client may have for the rows that are inserted into a table, whatever they hold."""

from __future__ import annotations

from airflow_ddlrepl.streams.evaluation.keys import KeyIndex
from airflow_ddlrepl.streams.messages import Command
from airflow_ddlrepl.streams.rules.client import Client
from airflow_ddlrepl.streams.rules.rule import ActionContext, RuleSet
from airflow_ddlrepl.streams.rules.split import split_rule
from airflow_ddlrepl.streams.rules.transform import NO_ACTION


class PossibleInserts:
    """Possible inserts are the actions of a client's rules that may be true for an untagged INSERT.

    database: the source database's name. The table's name decides; what rules say of values may be true or not.
    """

    def __init__(self, client: Client, database: str) -> None:
        self._client = client
        self._database = database
        self._positive, self._negative = (_Indexed(rules) for rules in (client.positive, client.negative))

    def of(self, owner: str, name: str) -> list[ActionContext]:
        """Return the actions for rows of a table, each once; none where the client takes none of them."""
        attributes = {
            "get_object_owner": owner,
            "get_object_name": name,
            "get_source_database_name": self._database,
            "get_command_type": Command.INSERT.value,
            "get_tag": None,
            "is_null_tag": "Y",
        }
        if any(is_certain for _, is_certain in self._negative.of(attributes)):
            return []
        if self._client.positive is None:
            return [NO_ACTION]
        found: list[ActionContext] = []
        for action, _ in self._positive.of(attributes):
            if action not in found:
                found.append(action)
        return found


class _Indexed:
    """A rule set in the order in which its rules are tried: those with an action first."""

    def __init__(self, rules: RuleSet | None) -> None:
        found = list(rules.rules.values()) if rules is not None else []
        self._rules = sorted(found, key=lambda rule: not rule.action.changes_messages)
        self._index = KeyIndex(rule.condition for rule in self._rules)

    def of(self, attributes: dict[str, str | None]) -> list[tuple[ActionContext, bool]]:
        """Return the actions of rules that may be true, up to the first that is certain to be, and whether it is."""
        found = []
        for number in self._index.of(attributes["get_object_owner"], attributes["get_object_name"]):
            split = split_rule(self._rules[number])
            if split.may_be_true(attributes):
                found.append((self._rules[number].action, split.rest is None))
                if split.rest is None:
                    break
        return found
