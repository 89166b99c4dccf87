"""This module tells which actions a client may have for the changes of a table's rows, whatever these hold."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from airflow_ddlrepl.streams.condition.tree import Constant
from airflow_ddlrepl.streams.evaluation.keys import KeyIndex
from airflow_ddlrepl.streams.messages import Command
from airflow_ddlrepl.streams.rules.client import Client
from airflow_ddlrepl.streams.rules.rule import ActionContext, Rule, RuleSet
from airflow_ddlrepl.streams.rules.split import split_rule
from airflow_ddlrepl.streams.rules.transform import NO_ACTION


class PossibleChanges:
    """Possible changes are the actions of a client's rules that may be true for changes of a table's rows.

    database: the source database's name. The table's name decides; what rules say of values may be true or not.
    """

    def __init__(self, client: Client, database: str) -> None:
        self._client = client
        self._database = database
        self._positive, self._negative = (_Indexed(rules) for rules in (client.positive, client.negative))

    def of_inserts(self, owner: str, name: str) -> list[ActionContext]:
        """Return the actions for untagged inserts, each once; none where the client takes none of them."""
        return self._actions(self._of_insert(owner, name))

    def insert_rules(self, owner: str, name: str) -> list[Rule]:
        """Return the positive rules that may be true for untagged inserts."""
        return [rule for rule, _ in self._positive.of(self._of_insert(owner, name))]

    def rules_text(self, owner: str, name: str) -> str:
        """Return a text of all rules for row changes of a table, without their names: equal for equal rules."""
        sides = (
            ("positive", self._client.positive, self._positive),
            ("negative", self._client.negative, self._negative),
        )
        return "; ".join(f"{side} {rules.rule_texts(owner, name)}" for side, given, rules in sides if given is not None)

    def functions(self, owner: str, name: str) -> list[str]:
        """Return the names of the functions that rules for row changes of a table call, each once."""
        return sorted({rule.action.function for rule in self._positive.of_rows(owner, name)} - {""})

    def _of_insert(self, owner: str, name: str) -> dict[str, Any]:
        untagged = {"get_tag": None, "is_null_tag": "Y"}
        return {**self._about(owner, name), "get_command_type": Command.INSERT.value, **untagged}

    def takes(self, owner: str, name: str) -> bool:
        """Return whether the client may take any change of a row: insert, update or delete, with a tag or without."""
        for command, tag in itertools.product(Command, self._tags):
            tagged = {"get_tag": tag, "is_null_tag": "Y" if tag is None else "N"}
            if self._actions({**self._about(owner, name), "get_command_type": command.value, **tagged}):
                return True
        return False

    @cached_property
    def _tags(self) -> list[bytes | None]:
        """Return no tag, each that a rule names, and tags between those: rules decide alike on every other one."""
        sets = [rules for rules in (self._client.positive, self._client.negative) if rules is not None]
        nodes = (node for one in sets for rule in one.rules.values() for node in rule.condition.walk())
        named = {node.value for node in nodes if isinstance(node, Constant) and isinstance(node.value, bytes)}
        return [None, *sorted({b"\0", *named, *(tag + b"\0" for tag in named)})]

    def _about(self, owner: str, name: str) -> dict[str, Any]:
        return {"get_object_owner": owner, "get_object_name": name, "get_source_database_name": self._database}

    def _actions(self, attributes: Mapping[str, Any]) -> list[ActionContext]:
        """Return the actions for a change with these attributes."""
        if any(is_certain for _, is_certain in self._negative.of(attributes)):
            return []
        if self._client.positive is None:
            return [NO_ACTION]
        found: list[ActionContext] = []
        for rule, _ in self._positive.of(attributes):
            if rule.action not in found:
                found.append(rule.action)
        return found


class _Indexed:
    """A rule set in the order in which its rules are tried: those with an action first."""

    def __init__(self, rules: RuleSet | None) -> None:
        found = list(rules.rules.values()) if rules is not None else []
        self._rules = sorted(found, key=lambda rule: not rule.action.changes_messages)
        self._index = KeyIndex(rule.condition for rule in self._rules)

    def rule_texts(self, owner: str, name: str) -> list[str]:
        """Return conditions and actions of the rules that can be true for row changes of a table."""
        found = self.of_rows(owner, name)
        return [f"{one.text} {sorted(one.action.pairs.items())} {one.action.declared}" for one in found]

    def of_rows(self, owner: str, name: str) -> list[Rule]:
        """Return the rules that can be true for row changes of a table."""
        rules = [self._rules[number] for number in self._index.of(owner, name)]
        return [rule for rule in rules if not rule.variables or "dml" in rule.variables]

    def of(self, attributes: Mapping[str, Any]) -> Iterator[tuple[Rule, bool]]:
        """Yield the rules that may be true, up to the first that is certain to be, and whether it is."""
        for number in self._index.of(attributes["get_object_owner"], attributes["get_object_name"]):
            split = split_rule(self._rules[number])
            if split.may_be_true(attributes):
                yield self._rules[number], split.rest is None
                if split.rest is None:
                    return
