"""This module does to the content of a queue what a client's rules say: rows in batches, control records one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow.compute as pc

from airflow_ddlrepl.model.change import REPLACED, Event, EventKind, Op, why_ignored
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.model.table import Identity
from airflow_ddlrepl.ports.change_values import ChangeValues
from airflow_ddlrepl.streams.condition import tree
from airflow_ddlrepl.streams.evaluation.row_batch import RowBatch
from airflow_ddlrepl.streams.messages import Command, MessageClass
from airflow_ddlrepl.streams.queue.batch_functions import batch_called
from airflow_ddlrepl.streams.queue.custom_functions import MOST_MESSAGES, NO_FUNCTIONS, CustomFunctions, refused
from airflow_ddlrepl.streams.queue.ddl.ddl_follows import with_row_names
from airflow_ddlrepl.streams.queue.ddl.row_names import RowNames
from airflow_ddlrepl.streams.queue.ddl_lcrs import ddl_lcrs, is_of_the_system, with_lcr
from airflow_ddlrepl.streams.queue.lcr_batch import LcrBatch, kept_batch
from airflow_ddlrepl.streams.queue.message_rules import ruled_event
from airflow_ddlrepl.streams.queue.messages import is_message
from airflow_ddlrepl.streams.queue.missing_values import lacks_new_values, lacks_old_values
from airflow_ddlrepl.streams.queue.row_messages import batches_of, queued_rows
from airflow_ddlrepl.streams.queue.transactions import TransactionFacts
from airflow_ddlrepl.streams.rules.batches import BatchEvaluator, Taken
from airflow_ddlrepl.streams.rules.client import Client, ClientKind
from airflow_ddlrepl.streams.rules.decide import Verdict, decide
from airflow_ddlrepl.streams.rules.rule import ActionContext, Rule
from airflow_ddlrepl.streams.rules.transform import transformed_groups

MOST_ACTIONS, MOST_TABLES = 1 << 10, 1 << 10
"""How many actions a rule set can have for one table, and into how many tables a function can turn one."""
ONE_EACH = "write a rule for each kind of statement, or let the application name one object in a statement"
OWN_SCHEMAS = "changes of the server's own schemas, and of ours, are never captured"
ATTRIBUTES = frozenset({"get_scn", "get_commit_scn", "get_transaction_id", "get_source_time"})


class ClientStage:
    """A client's stage takes changes by the client's rules, and transforms those that it takes.

    database: the name of the source's database. discarded: rows that no rule has taken, by table. taken: how many
    rows of the last batch were. migrated: how many updates subset rules have made inserts or deletes of. scale: what
    numbers in a transaction are multiplied by, so that a function can give several messages for one. functions: as the
    client calls them (`CustomFunctions.of_client`). steps: of its work that were done, with the user who has done each.
    """

    def __init__(
        self,
        client: Client,
        database: str,
        values: ChangeValues,
        functions: CustomFunctions = NO_FUNCTIONS,
    ) -> None:
        client.require_ready()
        self.client = client
        self.database = database
        self.discarded: Counter[str] = Counter()
        self.taken = 0
        self.migrated = 0
        self.functions = functions
        self.steps: dict[str, str] = {}
        self._values = values
        self._evaluator = BatchEvaluator(client)
        rules = [one for rules in (client.positive, client.negative) if rules for one in rules.rules.values()]
        acting = list(client.positive.rules.values()) if client.positive else []
        functions.require(one.action.function for one in acting if one.action.function)
        nodes = [node for rule in rules for node in rule.condition.walk()]
        self._columns = {node.column for node in nodes if isinstance(node, tree.ColumnValue | tree.IsAbsent)}
        self._attributes = {node.name for node in nodes if isinstance(node, tree.Attribute)} & ATTRIBUTES
        self.scale = MOST_MESSAGES if any(rule.action.is_array_function for rule in acting) else 1
        self._subsets = [rule for rule in acting if rule.action.subset is not None]
        self._row_names = RowNames(client, database)

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
        self.note("format")
        if self._subsets or (self.client.kind, message_class) == (ClientKind.APPLY, MessageClass.CAPTURED):
            batch = batch.with_old_keys()
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
        if self._subsets:
            self.migrated += _migrated(typed, taken)
        return list(self._transformed_batches(batch, taken, facts, message_class))

    def event(self, event: Event) -> Event:
        """Return a control record as a client that takes one message for one leaves it, as `events` does."""
        return self.events(event)[-1]

    def events(self, event: Event) -> list[Event]:
        """Return what the client leaves of a control record; `discarded` says why it does not take it.

        Of a TRUNCATE of several tables those stay that the client takes; another statement about several objects is
        discarded as soon as one of them is not taken. A capture process leaves the record of the source, discarded, in
        front of those with other names or another text. Raises RuleError (RUL-…): nothing is left then.
        """
        if self.scale != 1:
            event = replace(event, key=LogKey(event.key.lsn, event.key.seq * self.scale))
        if event.query is not None:
            event = replace(event, query=None)  # it may have the values of rows that the rules keep out
        if is_message(event) and not why_ignored(event):
            return [ruled_event(event, self.client, self.functions, self.discarded)]
        if why_ignored(event) or event.is_inspected or event.kind not in (EventKind.DDL, EventKind.TRUNCATE):
            return [event]
        self.note("format")
        lcrs = ddl_lcrs(event, self.database)
        if not lcrs:
            return [event]
        if self.client.kind is ClientKind.CAPTURE and any(is_of_the_system(lcr) for lcr in lcrs):
            self.discarded[OWN_SCHEMAS] += 1
            return [replace(event, discarded=f"{self.client.words}: {OWN_SCHEMAS}")]
        verdicts = [decide(self.client, lcr) for lcr in lcrs]
        left = [(lcr, verdict) for lcr, verdict in zip(lcrs, verdicts, strict=True) if not verdict.is_taken]
        if left and event.kind is EventKind.TRUNCATE and len(left) < len(lcrs):
            taken = [dropped for dropped, verdict in zip(event.dropped, verdicts, strict=True) if verdict.is_taken]
            event = replace(event, dropped=tuple(taken))
        elif left:
            self.discarded[f"{left[0][0].command} of {left[0][0].owner}.{left[0][0].name or '?'}"] += 1
            return [replace(event, discarded=f"{self.client.words}: {left[0][1].why}")]
        found = list(self._transformed(event, [verdict for verdict in verdicts if verdict.is_taken]))
        if found == [event] or self.client.kind is not ClientKind.CAPTURE:
            return found
        originals = [] if any(not one.is_transformed for one in found) else [replace(event, discarded=REPLACED)]
        return [*originals, *found]

    def _transformed(self, event: Event, verdicts: list[Verdict]) -> Iterator[Event]:
        """Yield a statement that the client takes with the names of its rows, and what functions make of it."""
        followed = with_row_names(event, self._row_names, self.client.words)
        actions = {one.rule.action.function: one.rule for one in verdicts if one.rule and one.rule.action.function}
        if followed is not event:
            self.note("transform")
        if followed.discarded or not actions:
            yield followed
            return
        lcrs = ddl_lcrs(followed, self.database)
        (function, rule), *others = actions.items()
        if others or len(lcrs) != 1:
            raise refused(function, f"{event.tag} of several objects", "nothing: it is called for one", ONE_EACH)
        self.note(f"call {function}")
        given = self.functions.called(function, lcrs[0], is_array=rule.action.is_array_function)
        if not given:
            yield replace(event, discarded=f"{self.client.words}: function {function} gives nothing for it")
        for number, lcr in enumerate(given):
            key = LogKey(event.key.lsn, event.key.seq + number)
            made = with_lcr(followed, lcrs[0], lcr, function)  # type: ignore[arg-type]
            yield replace(made, key=key, is_transformed=made.is_transformed or number > 0)

    def _transformed_batches(
        self, batch: LcrBatch, taken: Taken, facts: TransactionFacts, message_class: MessageClass
    ) -> Iterator[LcrBatch]:
        plain = replace(batch.plain(), source_database=self.database)
        for variant, (action, rows) in enumerate(transformed_groups(plain, taken)):
            _require_whole_inserts(batch, rows, action)
            left = batch if rows is plain else kept_batch(batch, rows, action.declared)
            number = (batch.layout.variant * MOST_ACTIONS + variant) * MOST_TABLES
            left = self._scaled(replace(left, layout=replace(left.layout, variant=number)))
            if action.declared or action.subset is not None:
                self.note("transform")
            if not action.function:
                yield left
                continue
            self.note(f"call {action.function}")
            if self.functions.takes_batches(action.function):
                found = batch_called(self.functions, action, left, self._values)
                yield from [found] if found is not None else []
            else:
                each = queued_rows(left, facts, self.database, self._values, message_class)
                with self.functions.calling(action.function, is_array=action.is_array_function) as call:
                    given: list[Any] = [(one, call(one.typed)) for one in each]
                yield from batches_of(left, given, self._values)

    def note(self, step: str) -> None:
        """Note that a step of the client's work was done."""
        self.steps.setdefault(step, self.functions.user)

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
            what = f"rule {rule.name} of {self.client.words} needs the old values of {', '.join(sorted(columns))}"
            table = f"{typed.owner}.{typed.name}"
            raise lacks_old_values(table, f"{what}, which the log does not have of {table}")


def _migrated(batch: RowBatch, taken: Taken) -> int:
    """Return how many updates of a batch become inserts or deletes, as they come into a subset or leave it."""
    subsets = (Command.INSERT, Command.DELETE)
    numbers = [number for number, rule in enumerate(taken.rules) if rule.action.subset in subsets]
    return int((np.isin(taken.numbers, numbers) & (batch.ops == Op.UPDATE)).sum())


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
        raise lacks_new_values(f"{batch.layout.schema}.{batch.layout.name}", names)
