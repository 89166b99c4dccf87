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
                is_whole &= self._together(part, facts)
        return is_whole

    def _is_alone(self, layout: Layout) -> bool:
        return TableName(layout.schema, layout.name) in self._alone or not self.rows.takes(layout)

    def _one_by_one(self, group: RowGroup, facts: TransactionFacts) -> None:
        self.feed.run(self.reader.transactions_in(group.batches, group.events, facts), group.low, group.high)
        if group.events:  # which may have changed the target's tables
            self._alone.clear()

    def _together(self, group: RowGroup, facts: TransactionFacts) -> bool:
        """Apply transactions together, or the halves of them; return whether all were applied together."""
        try:
            self._at_once(group, facts)
            return True
        except NotTogether as error:
            if new := error.tables - self._alone:
                self._alone |= new
                return self._apply(group, facts)
        except (ApplyError, RuleError):
            pass  # who applies them one by one says which transaction it is of
        halves = group.halves()
        if halves is None:
            self._one_by_one(group, facts)
        else:
            for half in halves:
                self._together(half, facts)
        return False

    def _at_once(self, group: RowGroup, facts: TransactionFacts) -> None:
        """Apply a group in one transaction. Raises NotTogether with names of tables of the queue."""
        ruled = [self.rows.ruled(one, facts) for one in group.batches]
        batches = [batch for one in ruled for batch in one.batches]
        to = FeedPosition(self.feed.feed, self.feed.epoch, group.high)

        def together(transaction: LcrTransaction) -> None:
            if batches:
                transaction.rows_together(batches, self.rows.message_class)
            transaction.move(self.feed.client, to)

        try:
            self.feed.session.run(together)
        except NotTogether as error:
            raise NotTogether(_named_in_queue(error.tables, group, ruled)) from error
        for one in ruled:
            self.rows.count(one)
        self.feed.count(*_counted(batches))


def _named_in_queue(tables: Collection[TableName], group: RowGroup, ruled: Sequence[Ruled]) -> set[TableName]:
    """Return the names that tables of the target have in the queue."""
    return {
        TableName(one.layout.schema, one.layout.name)
        for one, left in zip(group.batches, ruled, strict=True)
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
