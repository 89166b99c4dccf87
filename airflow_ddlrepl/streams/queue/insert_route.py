"""This module sends rows of a table the way that its changes go: through all clients between a source and a target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.ports.change_values import ChangeValues
from airflow_ddlrepl.streams.condition import tree
from airflow_ddlrepl.streams.condition.tree import Truth
from airflow_ddlrepl.streams.messages import MessageClass
from airflow_ddlrepl.streams.queue.lcr_batch import LcrBatch, kept_batch
from airflow_ddlrepl.streams.queue.ruled_writer import ClientRules
from airflow_ddlrepl.streams.queue.transactions import TransactionFacts
from airflow_ddlrepl.streams.rules.apply_settings import EXECUTE
from airflow_ddlrepl.streams.rules.client import Client, ClientKind
from airflow_ddlrepl.streams.rules.possible import PossibleChanges
from airflow_ddlrepl.streams.rules.rule import ARRAY_TRANSFORM_FUNCTION, TRANSFORM_FUNCTION, ActionContext, RuleSet
from airflow_ddlrepl.streams.transformations.row_batches import transformed_batch

_FUNCTIONS = (TRANSFORM_FUNCTION, ARRAY_TRANSFORM_FUNCTION)


@dataclass(frozen=True, slots=True)
class Subset:
    """A subset is the condition of a client's subset rules for the inserts of a table.

    about: the table's name at that client. columns: those of the condition with their ids. rules: their names in words.
    """

    condition: Truth
    about: TableName
    columns: Mapping[str, int]
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """An outcome is what may become of inserted rows of a table.

    queued: the table's name in the queue that the apply process reads. batch: what the target gets. is_certain: no
    function on the way decides about it. source_function: a function of the source, which only its triggers can call,
    changes the rows on the way. subsets: which of the rows subset rules on the way have let through. rules: texts of
    the rules on the way that may be true for changes of the table's rows, with those of their functions.
    """

    queued: TableName
    batch: LcrBatch
    is_certain: bool = True
    source_function: str = ""
    subsets: tuple[Subset, ...] = ()
    rules: tuple[str, ...] = ()


class InsertRoute:
    """An insert route leads from a capture over propagations to an apply process, whose rules come last.

    discarded: rows that a client has not taken, by table and client.
    """

    def __init__(self, rules: Sequence[ClientRules], message_class: MessageClass, values: ChangeValues) -> None:
        rules = [*rules[:-1], replace(rules[-1], client=_executing(rules[-1].client))]
        self.message_class = message_class
        self._stages = [_callable(one).stage(values) for one in rules]
        self._possible = [PossibleChanges(one.client, one.database) for one in rules]
        self._functions = [one.functions for one in rules]

    @property
    def name(self) -> str:
        """Return the names of the clients on the way."""
        return " - ".join(stage.client.name for stage in self._stages)

    @property
    def discarded(self) -> Counter[str]:
        """Return how many rows were discarded on the way, by table and client."""
        found: Counter[str] = Counter()
        for stage in self._stages:
            for table, rows in stage.discarded.items():
                found[f"{table}: {stage.client.words}"] += rows
        return found

    def outcomes(self, batch: LcrBatch) -> list[Outcome]:
        """Return what may become of rows of a table. batch: one without rows, with the table's shape."""
        return list(self._outcomes(Outcome(table_of(batch), batch), 0))

    def _outcomes(self, one: Outcome, at: int) -> Iterator[Outcome]:
        if at == len(self._stages):
            yield one
            return
        name = table_of(one.batch)
        for action in self._possible[at].of_inserts(name.schema, name.name):
            rows = transformed_batch(one.batch.plain(), action.declared)
            left = kept_batch(one.batch, rows, action.declared) if action.declared else one.batch
            queued = name if at == len(self._stages) - 1 else table_of(left)
            subsets = (*one.subsets, *self._subsets(at, one.batch, action))
            rules = (*one.rules, f"{at}: {self._rules_text(at, name)}")
            found = replace(one, queued=queued, batch=left, subsets=subsets, rules=rules)
            if action.function and self._stages[at].client.kind is ClientKind.SYNC_CAPTURE:
                found = replace(found, source_function=action.function)
            elif action.function:
                found = replace(found, is_certain=False)
            yield from self._outcomes(found, at + 1)

    def _rules_text(self, at: int, name: TableName) -> str:
        """Return a text of a client's rules for changes of a table's rows, and of the functions that they call."""
        possible = self._possible[at]
        versions = [self._functions[at].version(one) for one in possible.functions(name.schema, name.name)]
        return "; ".join((possible.rules_text(name.schema, name.name), *versions))

    def _subsets(self, at: int, batch: LcrBatch, action: ActionContext) -> Iterator[Subset]:
        """Yield which rows the rules with a subset's action let through."""
        if action.subset is None:
            return
        name = table_of(batch)
        rules = [rule for rule in self._possible[at].insert_rules(name.schema, name.name) if rule.action == action]
        nodes = [node for rule in rules for node in rule.condition.walk()]
        wanted = {node.column for node in nodes if isinstance(node, tree.ColumnValue)}
        ids = {column.name: column.id for column in batch.shape.columns}
        client = self._stages[at].client
        yield Subset(
            tree.AnyOf(tuple(rule.condition for rule in rules)),
            name,
            {column: ids.get(column, -1) for column in sorted(wanted)},
            tuple(f"subset rule {rule.name} of {client.words}" for rule in rules),
        )

    def rows(self, batch: LcrBatch, facts: TransactionFacts) -> list[Outcome]:
        """Return what becomes of inserted rows. Raises RuleError (RUL-…) as the rules on the way do."""
        left = [batch]
        for stage in self._stages[:-1]:
            left = [found for one in left for found in stage.rows(one, facts, self.message_class)]
        last = self._stages[-1]
        return [Outcome(table_of(one), found) for one in left for found in last.rows(one, facts, self.message_class)]


def table_of(batch: LcrBatch) -> TableName:
    """Return the name of a batch's table."""
    return TableName(batch.layout.schema, batch.layout.name)


def _callable(rules: ClientRules) -> ClientRules:
    """Return the rules of a synchronous capture without functions: these are the source's own."""
    client = rules.client
    if client.kind is not ClientKind.SYNC_CAPTURE or client.positive is None:
        return rules
    found = RuleSet(client.positive.name, client.positive.context)
    for one in client.positive.rules.values():
        pairs = {name: value for name, value in one.action.pairs.items() if name not in _FUNCTIONS}
        found.add(replace(one, action=replace(one.action, pairs=pairs)))
    return replace(rules, client=replace(client, positive=found))


def _executing(client: Client) -> Client:
    """Return an apply process without the rules whose messages it does not apply (SET_EXECUTE)."""
    if client.positive is None or all(one.action.pairs.get(EXECUTE) != "NO" for one in client.positive.rules.values()):
        return client
    rules = RuleSet(client.positive.name, client.positive.context)
    for one in client.positive.rules.values():
        if one.action.pairs.get(EXECUTE) != "NO":
            rules.add(one)
    return replace(client, positive=rules)
