"""The lineage of a channel: which source table and column each column of a target's tables comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from airflow_ddlrepl.capture.enroll import valid_at
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.channel_at import ChannelAt
from airflow_ddlrepl.config.sections.location import resolve
from airflow_ddlrepl.engines import engine
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.targets.readiness import ready_targets
from airflow_ddlrepl.mapping.values import transform_of
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.model.target_columns import is_of_channel_file
from airflow_ddlrepl.notation.condition.parser import expression
from airflow_ddlrepl.ports.work import InProcess

Datasets = Sequence[tuple[str, str]]


class ValuesFrom(StrEnum):
    """This value says how a target's column gets its values."""

    COLUMN = "the value of the source's column"
    FUNCTION = "the function {} of `transform`"
    EXPRESSION = "an expression of `target_tables`"
    CHANGE = "the change itself, by `target_tables`"


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """A column's lineage is its place at the target, and the source's columns that its values come from."""

    column: Column
    reads: tuple[str, ...]
    origin: ValuesFrom
    by: str = ""

    @property
    def description(self) -> str:
        """Return in words how the column gets its values."""
        return self.origin.format(self.by)


@dataclass(frozen=True, slots=True)
class TableLineage:
    """A table's lineage is a table of the source, the table of a target that gets its rows, and their columns.

    source, target: namespace and name of each as OpenLineage has them, and behind them others of the same table.
    """

    source: Datasets
    table: Table
    target: Datasets
    shape: Table
    columns: tuple[ColumnLineage, ...]


def data_lineage(channel: Channel, run_id: str = "") -> list[TableLineage]:
    """Return the lineage of every table that gets the source's rows at a target; a client of Streams has none.

    A table that waits for its load, that is suspended, or that is only kept, has none: its rows are another moment's.
    """
    with RunContext(channel, InProcess(), run_id) as run:
        return list(_each(run))


def _each(run: RunContext) -> Iterator[TableLineage]:
    history = run.repository.histories(run.channel.name)
    source = resolve(run.channel.source.location)
    for target in ready_targets(run):
        now = run.target(target.name).state()
        place = resolve(target.location)
        for table_id, table_state in sorted(now.table_states.items(), key=lambda item: item[1].name):
            table = _source_table(table_state, now.lsn, history.get(table_id, ()))
            if table is not None:
                shape = table_state.shape.with_(name=table_state.name)
                columns = tuple(_columns(run.channel.at(target.name), table, shape))
                names = [engine(at).datasets(at, one.name) for at, one in ((source, table), (place, shape))]
                yield TableLineage(names[0], table, names[1], shape, columns)


def _source_table(table_state: TableState, position: Position, history: Sequence[Revision]) -> Table | None:
    """Return the source's table as it was when the target got its newest rows; None where it gets none."""
    if table_state.state is not TableStatus.LIVE:
        return None
    since = max(position, table_state.snapshot.high) if table_state.snapshot else position
    revision = valid_at(history, LogKey(since, START_OF_TRANSACTION))
    return revision.table if revision else None


def _columns(at: ChannelAt, table: Table, shape: Table) -> Iterator[ColumnLineage]:
    named = {column.id: column.name for column in table.columns}
    settings = at.settings(table.name)
    transform = transform_of(settings.values, table)
    gives = transform.gives if transform else ()
    for column in shape.columns:
        if column.id in named and transform and named[column.id] in gives:
            yield ColumnLineage(column, transform.reads, ValuesFrom.FUNCTION, transform.function)
        elif column.id in named:
            yield ColumnLineage(column, (named[column.id],), ValuesFrom.COLUMN)
        elif is_of_channel_file(column):
            text = settings.columns.extra.get(column.name, "")
            reads = tuple(one for one in expression(text).names() if one in named.values()) if text else ()
            yield ColumnLineage(column, reads, ValuesFrom.EXPRESSION if reads else ValuesFrom.CHANGE)
