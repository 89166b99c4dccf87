"""This module does to the content of a queue what a client's rules say: rows in batches, control records one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow.compute as pc

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.model.change import Event, EventKind, Op, why_ignored
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.model.table import Identity
from airflow_ddlrepl.ports.change_values import ChangeValues
from airflow_ddlrepl.queues.custom_functions import MOST_MESSAGES, NO_FUNCTIONS, CustomFunctions
from airflow_ddlrepl.queues.ddl_lcrs import ddl_lcrs
from airflow_ddlrepl.queues.lcr_batch import LcrBatch, kept_batch
from airflow_ddlrepl.queues.row_messages import batches_of, queued_rows
from airflow_ddlrepl.queues.transactions import TransactionFacts
from airflow_ddlrepl.streams.condition import tree
from airflow_ddlrepl.streams.evaluation.row_batch import RowBatch
from airflow_ddlrepl.streams.messages import Command, MessageClass, RowLcr
from airflow_ddlrepl.streams.rules.batches import BatchEvaluator, Taken
from airflow_ddlrepl.streams.rules.client import Client, ClientKind
from airflow_ddlrepl.streams.rules.decide import decide
from airflow_ddlrepl.streams.rules.rule import ActionContext, Rule
from airflow_ddlrepl.streams.rules.transform import transformed_groups

MOST_ACTIONS, MOST_TABLES = 1 << 10, 1 << 10
"""How many actions a rule set can have for one table, and into how many tables a function can turn one."""
ATTRIBUTES = frozenset({"get_scn", "get_commit_scn", "get_transaction_id", "get_source_time"})


class ClientStage:
    """A client's stage takes changes by the client's rules, and transforms those that it takes.

    database: the name of the source's database. discarded: rows that no rule has taken, by table. taken: how many
    rows of the last batch were. scale: what numbers
    in a transaction are multiplied by, so that a function can give several messages for one.
    """

    def __init__(
        self, client: Client, database: str, values: ChangeValues, functions: CustomFunctions = NO_FUNCTIONS
    ) -> None:
        client.require_ready()
        self.client = client
        self.database = database
        self.discarded: Counter[str] = Counter()
        self.taken = 0
        self._values = values
        self._functions = functions
        self._evaluator = BatchEvaluator(client)
        rules = [one for rules in (client.positive, client.negative) if rules for one in rules.rules.values()]
        functions.require(one.action.function for one in rules if one.action.function)
        nodes = [node for rule in rules for node in rule.condition.walk()]
        self._columns = {node.column for node in nodes if isinstance(node, tree.ColumnValue | tree.IsAbsent)}
        self._attributes = {node.name for node in nodes if isinstance(node, tree.Attribute)} & ATTRIBUTES
        self.scale = MOST_MESSAGES if any(rule.action.is_array_function for rule in rules) else 1
        self._subsets = [rule for rule in rules if rule.action.subset is not None]

    def rows(
        self, batch: LcrBatch, facts: TransactionFacts, message_class: MessageClass = MessageClass.CAPTURED
    ) -> list[LcrBatch]:
        """Return what the client takes of a batch, as its rules leave it; each batch is in log order.

        Raises RuleError (RUL-…) where a condition or a transformation can't be done: nothing is taken then.
        """
        self.taken = 0
        if not len(batch):
            return []
        if self.client.kind is ClientKind.DEQUEUE and message_class is not MessageClass.PERSISTENT:
            return self._without(batch, len(batch))
        batch = batch.with_old_keys() if self._subsets else batch
        at = facts.places(batch.rows["lsn"].to_numpy())
        typed = replace(
            batch.typed(self._values, self._columns),
            source_database=self.database,
            tags=facts.tags(at),
            attributes=facts.attributes(at, self._attributes),
        )
        self._require_old_values(batch, typed)
        taken = self._evaluator.evaluate(typed)
        self.taken = int(taken.is_taken.sum())
        self._without(batch, len(batch) - self.taken)
        if not self.taken:
            return []
        return list(self._left(batch, taken, facts, message_class))

    def event(self, event: Event) -> Event:
        """Return a control record as the client leaves it; `discarded` says why the client does not take it.

        Of a TRUNCATE of several tables those stay that the client takes; another statement about several objects is
        discarded as soon as one of them is not taken.
        """
        if self.scale != 1:
            event = replace(event, key=LogKey(event.key.lsn, event.key.seq * self.scale))
        if why_ignored(event) or event.is_inspected or event.kind not in (EventKind.DDL, EventKind.TRUNCATE):
            return event
        lcrs = ddl_lcrs(event, self.database)
        verdicts = [decide(self.client, lcr) for lcr in lcrs]
        left = [(lcr, verdict) for lcr, verdict in zip(lcrs, verdicts, strict=True) if not verdict.is_taken]
        if left and event.kind is EventKind.TRUNCATE and len(left) < len(lcrs):
            taken = [dropped for dropped, verdict in zip(event.dropped, verdicts, strict=True) if verdict.is_taken]
            return replace(event, dropped=tuple(taken))
        if left:
            why = f"{self.client.kind.words} {self.client.name}: {left[0][1].why}"
            self.discarded[f"{left[0][0].command} of {left[0][0].owner}.{left[0][0].name or '?'}"] += 1
            return replace(event, discarded=why)
        return event

    def _left(
        self, batch: LcrBatch, taken: Taken, facts: TransactionFacts, message_class: MessageClass
    ) -> Iterator[LcrBatch]:
        plain = replace(batch.plain(), source_database=self.database)
        for variant, (action, rows) in enumerate(transformed_groups(plain, taken)):
            _require_whole_inserts(batch, rows, action)
            left = batch if rows is plain else kept_batch(batch, rows, action.declared)
            number = (batch.layout.variant * MOST_ACTIONS + variant) * MOST_TABLES
            left = self._scaled(replace(left, layout=replace(left.layout, variant=number)))
            if not action.function:
                yield left
                continue
            rows_ = queued_rows(left, facts, self.database, self._values, message_class)
            yield from batches_of(left, [(one, self._called(action, one.typed)) for one in rows_])

    def _called(self, action: ActionContext, lcr: RowLcr) -> list[RowLcr]:
        return self._functions.called(action.function, lcr, is_array=action.is_array_function)  # type: ignore[return-value]

    def _scaled(self, batch: LcrBatch) -> LcrBatch:
        """Return the rows with room between their numbers, where a function may give several for one."""
        if self.scale == 1:
            return batch
        seq = pc.multiply(batch.rows["seq"], self.scale)
        return replace(batch, rows=batch.rows.set_column(1, "seq", seq))

    def _without(self, batch: LcrBatch, rows: int) -> list[LcrBatch]:
        if rows:
            self.discarded[f"{batch.layout.schema}.{batch.layout.name}"] += rows
        return []

    def _require_old_values(self, batch: LcrBatch, typed: RowBatch) -> None:
        """Raise RuleError RUL-132 where a subset rule needs old values that the log does not have."""
        if not self._subsets or batch.layout.identity is Identity.FULL or not (typed.ops != Op.INSERT).any():
            return
        keys = typed.key_columns
        for rule in self._subsets:
            columns = {n.column for n in rule.condition.walk() if isinstance(n, tree.ColumnValue | tree.IsAbsent)}
            if (columns <= keys and typed.least_before) or not _is_of(rule, typed):
                continue
            raise RuleError(
                f"rule {rule.name} of {self.client.kind.words} {self.client.name} needs the old values of"
                f" {', '.join(sorted(columns))}, which the log does not have of {typed.owner}.{typed.name}",
                code="RUL-132",
                table=f"{typed.owner}.{typed.name}",
                hint=f"ALTER TABLE {typed.owner}.{typed.name} REPLICA IDENTITY FULL; rows that were changed before then"
                " stay without them: load the table again",
            )


def _is_of(rule: Rule, batch: RowBatch) -> bool:
    """Return whether a subset rule is about the table of a batch."""
    names = {
        (part.left.name, part.right.value)
        for part in rule.condition.walk()
        if isinstance(part, tree.Comparison) and isinstance(part.left, tree.Attribute)
        if isinstance(part.right, tree.Constant)
    }
    return {("get_object_owner", batch.owner), ("get_object_name", batch.name)} <= names


def _require_whole_inserts(batch: LcrBatch, rows: RowBatch, action: ActionContext) -> None:
    """Raise RuleError RUL-133 where an update that comes into a subset lacks values of the row."""
    if action.subset is Command.INSERT and any(flags.any() for flags in rows.absent.values()):
        names = sorted(name for name, flags in rows.absent.items() if np.any(flags))
        raise RuleError(
            f"an update of {batch.layout.schema}.{batch.layout.name} comes into a subset, and the log does not have its"
            f" {', '.join(names)}",
            code="RUL-133",
            table=f"{batch.layout.schema}.{batch.layout.name}",
            hint="ALTER TABLE … REPLICA IDENTITY FULL lets the log have whole rows",
        )
