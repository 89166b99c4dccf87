"""This module defines an environment: a database's clients, rule sets and rules, as procedures make them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.notation.suggestion import nearest
from airflow_ddlrepl.streams.condition.kinds import Kind
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.rules.apply_settings import ApplySettings, DmlHandler, Instantiation
from airflow_ddlrepl.streams.rules.client import Client, ClientKind
from airflow_ddlrepl.streams.rules.rule import STREAMS_CONTEXT, EvaluationContext, Rule, RuleSet

Columns = Mapping[str, Kind]
Former = Callable[[str], Iterable[Columns]]


class Outgrown(NamedTuple):
    """A table (SCHEMA.TABLE) has outgrown the condition of a client's rule: a column is gone, or has another type."""

    table: str
    client: Client
    error: RuleError


class Environment:
    """An environment holds clients, rule sets and rules by name, and the warnings about them.

    case: how the database spells names without quotes. columns: of tables, by SCHEMA.TABLE, where they are known.
    message_types: fields of the types of user messages. former: the columns that a table had before, newest first.
    outgrown: rules that the table does not fit any more; it did before.
    """

    def __init__(
        self,
        case: NameCase = NameCase.UPPER,
        columns: Mapping[str, Columns] | None = None,
        message_types: Mapping[str, Columns] | None = None,
        former: Former = lambda _: (),
    ) -> None:
        self.case = case
        self.former = former
        self.outgrown: list[Outgrown] = []
        self.columns = dict(columns or {})
        self.message_types = {self.name(type): fields for type, fields in (message_types or {}).items()}
        self.clients: dict[tuple[ClientKind, str], Client] = {}
        self.rule_sets: dict[str, RuleSet] = {}
        self.rules: dict[str, Rule] = {}
        self.downstream: set[str] = set()
        self.applying: dict[str, ApplySettings] = {}
        self.dml_handlers: list[DmlHandler] = []
        self.applied: list[Instantiation] = []
        self.warnings: list[str] = []
        self._last = 0

    def name(self, text: str) -> str:
        """Return a name with its parts as the database spells them. Raises RuleError RUL-113 for what is no name."""
        return ".".join(self.parts(text))

    def parts(self, text: str) -> tuple[str, ...]:
        """Return the parts of a name. Raises RuleError RUL-113 for what is no name."""
        try:
            return self.case.parts(text)
        except ValueError as error:
            raise RuleError(str(error), code="RUL-113", hint='write NAME, SCHEMA.NAME, or "Name" in quotes') from None

    def table(self, text: str) -> tuple[str, str]:
        """Return the schema and the name of a table. Raises RuleError RUL-113 for a name without a schema."""
        found = self.parts(text)
        if len(found) != 2:
            raise RuleError(f"{text} is no table's name", code="RUL-113", hint="write SCHEMA.TABLE")
        return found[0], found[1]

    def made_up(self, word: str) -> str:
        """Return a new name that begins with a word."""
        self._last += 1
        return self.case.plain(f"{word[:24]}{self._last}")

    def client(self, kind: ClientKind, name: str | None, queue: str) -> Client:
        """Return a client; one that is not there is created. Raises RuleError RUL-113 when it is not clear which.

        name None: the one of this kind that uses the queue.
        """
        queue = self.name(queue)
        if name is None:
            found = [one for (of, _), one in self.clients.items() if of is kind and one.queue == queue]
            if len(found) > 1:
                names = ", ".join(one.name for one in found)
                hint = f"set streams_name to one of {names}"
                raise RuleError(f"queue {queue} has {len(found)} clients of kind {kind}", code="RUL-113", hint=hint)
            name = found[0].name if found else f"{kind}_{queue.rpartition('.')[2]}"
        key = (kind, self.name(name))
        if key not in self.clients:
            self.clients[key] = Client(key[1], kind, queue=queue)
        return self.clients[key]

    def existing_client(self, kind: ClientKind, name: str) -> Client:
        """Return a client. Raises RuleError RUL-113 when there is none of this name."""
        found = self.clients.get((kind, self.name(name)))
        if found is None:
            raise self._unknown(kind.words, name, [one for of, one in self.clients if of is kind])
        return found

    @property
    def capture(self) -> Client | None:
        """Return the capture process. Raises RuleError RUL-140 where there are two: one log has one."""
        found = [client for client in self.clients.values() if client.kind is ClientKind.CAPTURE]
        if len(found) > 1:
            raise RuleError(
                f"there are {len(found)} capture processes, {found[0].name} and {found[1].name}",
                code="RUL-140",
                hint="a channel captures its source's log once: write another channel for the other one",
            )
        return found[0] if found else None

    def functions(self) -> Iterator[tuple[Client, str]]:
        """Yield the custom functions that clients call, each with its client: of rules, then of handlers."""
        for client in self.clients.values():
            rules = [one for rules in (client.positive, client.negative) if rules for one in rules.rules.values()]
            yield from ((client, rule.action.function) for rule in rules if rule.action.function)
            if client.kind is ClientKind.APPLY:
                yield from ((client, name) for name in sorted(self.apply_settings(client.name).functions))

    def apply_settings(self, client: str) -> ApplySettings:
        """Return how an apply client works besides its rules; a client of which nothing is said has the defaults."""
        return self.applying.get(client, ApplySettings()).for_client(client, self.dml_handlers, self.applied)

    def rule(self, name: str) -> Rule:
        """Return a rule. Raises RuleError RUL-113 when there is none of this name."""
        found = self.rules.get(self._own(name))
        if found is None:
            raise self._unknown("rule", name, self.rules)
        return found

    def rule_set(self, name: str) -> RuleSet:
        """Return a rule set. Raises RuleError RUL-113 when there is none of this name."""
        found = self.rule_sets.get(self._own(name))
        if found is None:
            raise self._unknown("rule set", name, self.rule_sets)
        return found

    def context(self, name: str | None) -> EvaluationContext:
        """Return an evaluation context; None: that for LCRs. Raises RuleError RUL-104 for an unknown one."""
        key = STREAMS_CONTEXT.name if name is None else self.name(name).upper()
        found = STREAMS_CONTEXT if key in (STREAMS_CONTEXT.name, "STREAMS$_EVALUATION_CONTEXT") else None
        if found is None:
            hint = f"conditions have the variables of {STREAMS_CONTEXT.name}: leave evaluation_context out"
            raise RuleError(f"the evaluation context {name} is not known", code="RUL-104", hint=hint)
        return found

    def add(self, rule: Rule) -> Rule:
        """Add a rule. Raises RuleError RUL-113 when there is one of its name."""
        self.require_free([rule])
        name = self._own(rule.name)
        self.rules[name] = replace(rule, name=name)
        return self.rules[name]

    def require_free(self, rules: Sequence[Rule]) -> None:
        """Raise RuleError RUL-113 when there is a rule with the name of one of these, or two of them have one."""
        names = [self._own(rule.name) for rule in rules]
        taken = [name for name in names if name in self.rules or names.count(name) > 1]
        if taken:
            raise RuleError(
                f"there is a rule {taken[0]} already", code="RUL-113", hint="choose another name, or drop it"
            )

    def change(self, rule: Rule) -> None:
        """Put another rule in the place of that of its name, in all rule sets, too."""
        self.rules[rule.name] = rule
        for rules in self.rule_sets.values():
            if rule.name in rules.rules:
                rules.add(rule)

    def add_rule_set(self, rules: RuleSet) -> RuleSet:
        """Add a rule set. Raises RuleError RUL-113 when there is one of its name."""
        rules.name = self._own(rules.name)
        if rules.name in self.rule_sets:
            raise RuleError(f"there is a rule set {rules.name} already", code="RUL-113", hint="choose another name")
        self.rule_sets[rules.name] = rules
        return rules

    def put(self, rule: Rule, rules: RuleSet) -> None:
        """Put a rule into a rule set. Raises RuleError RUL-111 for a subset rule in a negative one."""
        if rule.action.subset is not None:
            users = [client for client in self.clients.values() if client.negative is rules]
            if users:
                raise RuleError(
                    f"rule {rule.name} is a subset rule, and {rules.name} is the negative rule set of {users[0].name}",
                    code="RUL-111",
                    hint="put subset rules into a positive rule set",
                )
        rules.add(rule)

    def _own(self, name: str) -> str:
        """Return the name of a rule or rule set without its owner: there is one owner."""
        return self.parts(name)[-1]

    def _unknown(self, what: str, name: str, known: object) -> RuleError:
        names = [str(one) for one in known]  # type: ignore[attr-defined]
        hint = nearest(self._own(name), names) or f"known: {', '.join(names) or 'none'}"
        return RuleError(f"there is no {what} {name}", code="RUL-113", hint=hint)
