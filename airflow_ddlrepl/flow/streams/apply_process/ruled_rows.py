"""The rules of an apply client decide about rows of a table together, where nothing needs a single row of it.

What they say is what `ApplyRules` says of each row: the names of the table, the kind of change and the tag decide.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from airflow_ddlrepl.flow.streams.apply_process.apply_rules import (
    INSTANTIATED,
    OTHER_DATABASE,
    SUSPENDED,
    ApplyRules,
    looks_at_rows,
)
from airflow_ddlrepl.ports.change_values import ChangeValues
from airflow_ddlrepl.ports.row_layout import Layout
from airflow_ddlrepl.streams.evaluation.row_batch import Flags, RowBatch
from airflow_ddlrepl.streams.messages import MessageClass, RowLcr
from airflow_ddlrepl.streams.queue.lcr_batch import LcrBatch, kept_batch
from airflow_ddlrepl.streams.queue.row_messages import batch_of_texts
from airflow_ddlrepl.streams.queue.transactions import TransactionFacts
from airflow_ddlrepl.streams.rules.apply_settings import ENQUEUE, EXECUTE
from airflow_ddlrepl.streams.rules.rule import ActionContext, Rule
from airflow_ddlrepl.streams.transformations.declared import RenameSchema, RenameTable, transformed
from airflow_ddlrepl.streams.transformations.row_batches import transformed_batch


@dataclass
class Ruled:
    """This value is what rules say of rows: those that are left, as texts, and what was counted meanwhile."""

    batches: list[RowBatch] = field(default_factory=list)
    discarded: Counter[str] = field(default_factory=Counter)
    warnings: dict[str, None] = field(default_factory=dict)
    evaluated: int = 0


@dataclass
class RuledRows:
    """These are the rules of an apply client for rows that are applied together. message_class: of the rows."""

    rules: ApplyRules
    values: ChangeValues
    message_class: MessageClass
    _known: dict[tuple[str, str], bool] = field(default_factory=dict)

    @property
    def is_for_none(self) -> bool:
        """Return whether every transaction is to be applied by itself, whatever it changes."""
        return bool(self.rules.settings.precommit_handler)

    def takes(self, layout: Layout) -> bool:
        """Return whether the rows of a table can be decided about together, and applied without a handler.

        A handler of errors is called when they go one by one, since something of them can't be applied.
        """
        key = (layout.schema, layout.name)
        if key not in self._known:
            self._known[key] = self._takes(*key)
        return self._known[key]

    def _takes(self, owner: str, name: str) -> bool:
        rules = list(self.rules.about(RowLcr(owner, name)))
        if any(_needs_rows(rule) for rule in rules):
            return False
        names = {(owner, name)}
        for rule in rules:
            moves = [one for one in rule.action.declared if isinstance(one, RenameTable | RenameSchema)]
            moved = transformed(RowLcr(owner, name), moves)
            names.add((str(moved.owner), str(moved.name)))
        handlers = (one for one in self.rules.settings.dml_handlers if not one.is_error_handler)
        return not any((one.owner, one.name) in names for one in handlers)

    def ruled(self, batch: LcrBatch, facts: TransactionFacts) -> Ruled:
        """Return what the rules leave of rows. Raises RuleError (RUL-…) where a transformation can't be done."""
        found = Ruled()
        if self.message_class is MessageClass.CAPTURED:
            batch = batch.with_old_keys()
        at = facts.places(batch.rows["lsn"].to_numpy())
        wanted = self._wanted(batch, facts, at, found.discarded)
        plain = replace(batch.plain(), source_database=self.rules.database, tags=facts.tags(at))
        for action, flags in self._taken(plain, wanted, found):
            rows = transformed_batch(plain.only(flags), action.declared)
            left = kept_batch(batch, rows, action.declared) if action.declared else LcrBatch(batch.layout, rows.rows)
            found.batches.append(batch_of_texts(left, self.values).plain())
        return found

    def _wanted(self, batch: LcrBatch, facts: TransactionFacts, at: Any, discarded: Counter[str]) -> Flags:
        """Return which rows the target does not have already, and wants."""
        lsn, of = batch.rows["lsn"].to_numpy(), f"{batch.layout.schema}.{batch.layout.name}"
        suspended = np.zeros(len(lsn), np.bool_)
        if self.message_class is MessageClass.CAPTURED and batch.layout.table_id in self.rules.suspended:
            suspended = lsn >= self.rules.suspended[batch.layout.table_id]
        others = np.full(len(lsn), self.rules.settings.source_database not in ("", self.rules.database))
        there = self._instantiated(batch, facts, at) if not others.all() else others
        for flags, why in ((suspended, SUSPENDED), (others & ~suspended, OTHER_DATABASE)):
            discarded[f"{of}: {why}"] += int(flags.sum())
        discarded[f"{of}: {INSTANTIATED}"] += int((there & ~suspended & ~others).sum())
        wanted: Flags = ~(suspended | others | there)
        return wanted

    def _instantiated(self, batch: LcrBatch, facts: TransactionFacts, at: Any) -> Flags:
        """Return which rows the table has already."""
        owner, name = batch.layout.schema, batch.layout.name
        has = [
            one
            for one in self.rules.settings.applied
            if one.owner in ("", owner) and one.name in ("", name) and one.source_database == self.rules.database
        ]
        found = np.zeros(len(facts.lsn), np.bool_)
        for place in np.unique(at) if has else ():
            lsn, transaction_id = int(facts.lsn[place]), str(facts.transaction_id[place])
            lcr = RowLcr(
                owner, name, self.rules.database, transaction_id=transaction_id, message_class=self.message_class
            )
            found[place] = any(one.has(lcr, lsn) for one in has)
        flags: Flags = found[at]
        return flags

    def _taken(self, batch: RowBatch, wanted: Flags, found: Ruled) -> list[tuple[ActionContext, Flags]]:
        """Return the rows that rules take, by what the rules do with them; count the others."""
        taken: list[tuple[ActionContext, Flags]] = []
        for rows in batch.classes():
            flags = wanted if rows.flags is None else wanted & rows.flags
            count = int(flags.sum())
            if not count:
                continue
            lcr = RowLcr(
                batch.owner,
                batch.name,
                batch.source_database,
                rows.tag,
                message_class=self.message_class,
                command=rows.command,
            )
            verdict = self.rules.decided(lcr)
            found.evaluated += sum(verdict.evaluated) * count
            found.warnings.update(dict.fromkeys(verdict.warnings))
            if not verdict.is_taken:
                found.discarded[f"{batch.owner}.{batch.name}: {verdict.why}"] += count
                continue
            action = verdict.rule.action if verdict.rule is not None else ActionContext()
            of = next((number for number, (other, _) in enumerate(taken) if other == action), None)
            if of is None:
                taken.append((action, flags))
            else:
                taken[of] = (action, taken[of][1] | flags)
        return taken

    def count(self, ruled: Ruled) -> None:
        """Count what was said of rows that are applied now."""
        self.rules.discarded.update(+ruled.discarded)
        self.rules.warnings.update(ruled.warnings)
        self.rules.evaluated += ruled.evaluated


def _needs_rows(rule: Rule) -> bool:
    """Return whether a rule looks at single rows, or does to each what is done row by row alone."""
    action = rule.action
    acts = action.function or action.subset is not None or {ENQUEUE, EXECUTE} & action.pairs.keys()
    return bool(acts) or looks_at_rows(rule)
