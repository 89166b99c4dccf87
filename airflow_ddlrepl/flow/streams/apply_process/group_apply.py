"""An apply client applies transactions in groups, as long as nothing of a group fails; then in halves of it.

A transaction that fails by itself, or has what is done message by message alone, is applied by `FeedApply`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from airflow_ddlrepl.engines.abilities.lcr_target import FeedPosition, LcrTransaction, NotTogether
from airflow_ddlrepl.errors import ApplyError, RuleError
from airflow_ddlrepl.flow.streams.apply_process.apply_feed import FeedApply
from airflow_ddlrepl.flow.streams.apply_process.parallel_apply import apply_wave
from airflow_ddlrepl.flow.streams.apply_process.row_groups import MOST_ROWS, RowGroup, RowGroups
from airflow_ddlrepl.flow.streams.apply_process.ruled_rows import Ruled, RuledRows
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.ports.row_layout import Layout
from airflow_ddlrepl.streams.evaluation.row_batch import COMMANDS, RowBatch
from airflow_ddlrepl.streams.queue.reader import QueuedTransaction, QueueReader
from airflow_ddlrepl.streams.queue.transactions import TransactionFacts
from airflow_ddlrepl.trail.manifest import Segment
from airflow_ddlrepl.trail.store import Trail

LEAST_ROWS = 500
"""Groups become as small as this, and not smaller, where transactions fail."""


@dataclass(frozen=True)
class _RuledGroup:
    """A ruled group is what rules leave of a group. of_batches: of each batch of the group."""

    group: RowGroup
    of_batches: Sequence[Ruled]

    @property
    def batches(self) -> list[RowBatch]:
        """Return the rows that are left."""
        return [batch for one in self.of_batches for batch in one.batches]


@dataclass
class GroupApply:
    """This applies the segments of a feed. feed: applies single transactions. reader: of the same queue."""

    feed: FeedApply
    trail: Trail
    reader: QueueReader
    rows: RuledRows
    _alone: set[TableName] = field(default_factory=set)

    def run(self, segment: Segment, low: Position) -> Position:
        """Apply what a segment has from position `low` on; return where the feed stands.

        Raises what `FeedApply.run` does.
        """
        if self.rows.is_for_none:
            return self.feed.run(self.reader.transactions(segment), low, segment.high)
        facts = TransactionFacts.of(self.trail.transactions(segment))
        groups = RowGroups(self.trail, segment, low, facts)
        for group in groups:
            if group.is_large:
                self.feed.run(self._large(segment, group), group.low, group.high)
                continue
            is_whole = self._apply(group, facts)
            groups.most = min(MOST_ROWS, 2 * groups.most) if is_whole else max(LEAST_ROWS, groups.most // 4)
        return segment.high

    def _large(self, segment: Segment, group: RowGroup) -> Iterator[QueuedTransaction]:
        for one in self.reader.transactions(segment, group.before):
            if one.lsn >= group.high:
                return
            yield one

    def _apply(self, group: RowGroup, facts: TransactionFacts) -> bool:
        """Apply a group; return whether all that could be applied together was."""
        is_whole = True
        for is_together, part in group.runs(self._is_alone):
            if not is_together:
                self._one_by_one(part, facts)
            else:
                is_whole &= self._side_by_side(part, facts)
        return is_whole

    def _is_alone(self, layout: Layout) -> bool:
        return TableName(layout.schema, layout.name) in self._alone or not self.rows.takes(layout)

    def _one_by_one(self, group: RowGroup, facts: TransactionFacts) -> None:
        self.feed.run(self.reader.transactions_in(group.batches, group.events, facts), group.low, group.high)
        if group.events:  # which may have changed the target's tables
            self._alone.clear()

    def _side_by_side(self, group: RowGroup, facts: TransactionFacts) -> bool:
        """Apply parts of a group at the same time, in sessions of their own; return whether all were applied together.

        They are committed in their order. Where one may be in another one's way they follow each other.
        """
        sessions = [self.feed.session, *self.feed.others]
        parts = group.parts(min(len(sessions), max(1, group.rows // LEAST_ROWS)))
        if len(parts) < 2:
            return self._together(group, facts)
        try:
            ruled = [self._ruled(one, facts) for one in parts]
        except RuleError:
            return self._together(group, facts)
        done = 0
        if self.feed.session.are_apart([one.batches for one in ruled], self.rows.message_class):
            done = apply_wave(sessions, ruled, self._write, self._move)
        for one in ruled[:done]:
            self._count(one)
        are_whole = [self._together(one.group, facts, one) for one in ruled[done:]]
        return all(are_whole)

    def _together(self, group: RowGroup, facts: TransactionFacts, ruled: _RuledGroup | None = None) -> bool:
        """Apply transactions together, or the halves of them; return whether all were applied together."""
        try:
            self._at_once(ruled or self._ruled(group, facts))
            return True
        except NotTogether as error:
            if new := error.tables - self._alone:
                self._alone |= new
                return self._apply(group, facts)
        except (ApplyError, RuleError):
            pass  # who applies them one by one says which transaction it is of
        halves = group.parts(2)
        if len(halves) < 2:
            self._one_by_one(group, facts)
        else:
            for half in halves:
                self._together(half, facts)
        return False

    def _ruled(self, group: RowGroup, facts: TransactionFacts) -> _RuledGroup:
        return _RuledGroup(group, [self.rows.ruled(one, facts) for one in group.batches])

    def _at_once(self, ruled: _RuledGroup) -> None:
        """Apply a group in one transaction. Raises NotTogether with names of tables of the queue."""

        def together(transaction: LcrTransaction) -> None:
            self._write(transaction, ruled)
            self._move(transaction, ruled)

        try:
            self.feed.session.run(together)
        except NotTogether as error:
            raise NotTogether(_named_in_queue(error.tables, ruled)) from error
        self._count(ruled)

    def _write(self, transaction: LcrTransaction, ruled: _RuledGroup) -> None:
        if ruled.batches:
            transaction.rows_together(ruled.batches, self.rows.message_class)

    def _move(self, transaction: LcrTransaction, ruled: _RuledGroup) -> None:
        transaction.move(self.feed.client, FeedPosition(self.feed.feed, self.feed.epoch, ruled.group.high))

    def _count(self, ruled: _RuledGroup) -> None:
        for one in ruled.of_batches:
            self.rows.count(one)
        self.feed.count(*_counted(ruled.batches))


def _named_in_queue(tables: Collection[TableName], ruled: _RuledGroup) -> set[TableName]:
    """Return the names that tables of the target have in the queue."""
    return {
        TableName(one.layout.schema, one.layout.name)
        for one, left in zip(ruled.group.batches, ruled.of_batches, strict=True)
        if any(TableName(batch.owner, batch.name) in tables for batch in left.batches)
    }


def _counted(batches: Sequence[RowBatch]) -> tuple[int, Counter[str]]:
    """Return how many transactions the rows are of, and how many rows of each kind there are."""
    kinds: Counter[str] = Counter()
    commits: set[int] = set()
    for one in batches:
        commits.update(np.unique(one.rows["lsn"].to_numpy()).tolist())
        for op, count in zip(*np.unique(one.ops, return_counts=True), strict=True):
            kinds[COMMANDS[Op(int(op))].lower()] += int(count)
    return len(commits), kinds
