"""A loader fills the tables of a refresh at one target from any origin of rows, and puts them in their places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_ddlrepl.adapt.shape.type_changes import renewed
from airflow_ddlrepl.engines import explained
from airflow_ddlrepl.engines.differing import Differing, NotByRange
from airflow_ddlrepl.engines.load_plan import LoadPlan
from airflow_ddlrepl.engines.loading import FinishTask, LoadTask, load_tables
from airflow_ddlrepl.engines.target import Loader
from airflow_ddlrepl.engines.target_state import Placing
from airflow_ddlrepl.errors import CannotAdapt, DdlReplError, ServerRefusal, TargetError, UnreadableTable
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.mapping.existing_tables import refuse_foreign
from airflow_ddlrepl.flow.mapping.tables import same_name
from airflow_ddlrepl.flow.refresh.differing_rows import differing, is_as_loaded, is_copy
from airflow_ddlrepl.flow.refresh.empty_tables import create_empty
from airflow_ddlrepl.flow.refresh.load_values import (
    cutting,
    fitting,
    with_load_values,
    with_texts,
    with_whole_texts,
    without_load_values,
)
from airflow_ddlrepl.flow.refresh.partition_trees import exchange, place_parents
from airflow_ddlrepl.flow.refresh.readiness import namesake
from airflow_ddlrepl.flow.refresh.row_origin import Chunk, RowOrigin, TableLoad
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.disk_space import needing
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.notation.refresh_options import BULK, Granularity, RefreshOptions
from airflow_ddlrepl.ports.progress import each


def load_tasks(
    context: RunContext, into: str, chunks: Sequence[tuple[Chunk, TableName]], mark: str = ""
) -> list[LoadTask]:
    """Return the tasks that load each chunk into its shadow table. into: the name of the target.

    mark: of this load, unlike that of any other; empty: the token of the run's lock.
    """
    numbers = Counter[int]()
    found = []
    for chunk, shadow in chunks:
        table = chunk.load.table
        found.append(
            LoadTask(
                target_dsn=context.target(into).location,
                rows=chunk.rows,
                table=table.name,
                shadow=shadow,
                read=tuple(theirs.name for theirs, _ in chunk.columns),
                columns=tuple(ours.name for _, ours in chunk.columns),
                token=mark or str(context.token),
                chunk=f"{context.channel.holder(into)}/{table.id}/{numbers[table.id]}",
                is_alike=all(theirs.type.text == ours.type.text for theirs, ours in chunk.columns),
                by_text=chunk.load.by_text(chunk.columns),
            )
        )
        numbers[table.id] += 1
    return found


@dataclass(frozen=True)
class Isolation:
    """An isolation lets tables be loaded while other runs work on the channel.

    placed: returns the state of a table in its place, from that of a table that follows the source. placing: holds the
    channel while the tables are put in their places. mark: unlike that of every run; for names of shadow tables.
    """

    placed: Callable[[TableState], TableState]
    placing: Callable[[], AbstractContextManager[Any]]
    mark: int


@dataclass
class TableLoader:
    """A table loader fills one target's tables with the rows of one origin.

    table_states: the channel's tables at the target now. options: by table; a bulk load where there are none.
    refused: takes by id the errors of tables that can't be read or loaded, while the others go on; None: the first is
    raised. isolation: None where this run holds the channel. warnings: told of the loads so far. parts: by table, the
    rows that are loaded where not all have to be. whole: tables that could not take these, and are loaded again.
    """

    context: RunContext
    into: str
    loader: Loader
    origin: RowOrigin
    table_states: Mapping[int, TableState]
    options: Mapping[int, RefreshOptions] = field(default_factory=dict, kw_only=True)
    refused: dict[int, DdlReplError] | None = field(default=None, kw_only=True)
    isolation: Isolation | None = field(default=None, kw_only=True)
    warnings: list[str] = field(default_factory=list, init=False)
    parts: dict[int, Differing] = field(default_factory=dict, init=False)
    whole: list[TableLoad] = field(default_factory=list, init=False)

    def run(self) -> list[tuple[TableState, int]]:
        """Load all tables and put them in their places; return the state and the number of rows of each."""
        loads: dict[int, TableLoad] = {}
        for table in self.origin.tables:
            with self.error_isolation(table):
                load = self.origin.load_of(table)
                if self.isolation is not None:
                    load = replace(load, after=self.isolation.placed(load.after))
                loads[table.id] = load
        loads = _of_trusted_owners(self, loads)
        self.context.target(self.into).sweep(self.context.token)
        done, trees = place_parents(self, loads)
        leaves = [load for load in loads.values() if not load.table.is_partitioned]
        created = create_empty(self, leaves)
        done += [(load.after, 0) for load in leaves if load.table.id in created]
        leaves = self._with_shadows([load for load in leaves if load.table.id not in created], loads)
        reach("refresh.shadow")
        alike = [load for load in leaves if is_as_loaded(load, self.before(load.table), _options(self, load))]
        self.parts = dict(differing(self.origin, alike, self.context.runner.parallelism))
        counts = self._load(leaves)
        reach("refresh.loaded")
        with self.isolation.placing() if self.isolation else nullcontext():
            apart = {load.table.id for tree in trees for load in tree.leaves}
            placed = self._place([load for load in leaves if load.table.id in counts.keys() - apart], counts)
            whole, self.whole = self.whole, []
            if whole:
                again = self._with_shadows(whole, loads)
                counts |= self._load(again)
                placed |= self._place([load for load in again if load.table.id in counts], counts)
            for tree in trees:
                exchanged = exchange(self, tree, counts)
                done += [(load.after, 0) for load in tree.parents if load.table.id in exchanged]
                placed |= exchanged
        self.loader.end()
        return done + [(load.after, counts[load.table.id]) for load in leaves if load.table.id in placed]

    def _with_shadows(self, leaves: Sequence[TableLoad], loads: Mapping[int, TableLoad]) -> list[TableLoad]:
        """Return the tables that got a shadow table to be loaded into, and the types that it needs."""
        self.context.check_lock()
        shapes, done = [load.after.shape for load in loads.values()], set[str]()
        at = self.position()
        found = []
        for load in each(leaves, f"tables have a place to be loaded into at target {self.into}"):
            with self.error_isolation(load.table):
                statements = [one for one in self._renewed([load], shapes) if one not in done]
                self.loader.renew_types(statements)
                done |= set(statements)
                self.loader.make_shadow(with_load_values(self._shadow_shape(load), at), self._shadow(load))
                found.append(load)
        return found

    @contextmanager
    def error_isolation(self, table: Table) -> Iterator[None]:
        """Let an error about one table stop that table only, where `refused` takes it."""
        try:
            yield
        except Exception as error:
            known = explained(error)
            is_of_table = isinstance(known, TargetError | CannotAdapt | ServerRefusal) and not known.retryable
            is_of_table = is_of_table or isinstance(known, UnreadableTable)
            if self.refused is None or known is None or not is_of_table:
                raise
            log.warning("%s is not loaded: %s: %s", table.name, known.code, known.message)
            self.refused[table.id] = known.about(table=table.name)

    def _shadow_shape(self, load: TableLoad) -> Table:
        return with_texts(with_whole_texts(self.origin.shadow_shape(load), load.cut), load)

    def _shadow(self, load: TableLoad) -> TableName:
        return self.loader.shadow(load.table.id)

    def before(self, table: Table) -> Table | None:
        """Return the shape that the channel has made the target's table; None: it has made none yet."""
        before = self.table_states[table.id]
        return None if before.state is TableStatus.NEW else before.shape

    def _renewed(self, loads: Sequence[TableLoad], after: Sequence[Table]) -> list[str]:
        """Return the SQL that updates the types, each statement once. A new type comes with its tables."""
        if not any(load.after.shape.types for load in loads):
            return []
        shapes = [*(one.shape for one in self.table_states.values()), *after]
        there = self.loader.facts.types({TableName(of.schema, of.name) for shape in shapes for of in shape.types})
        known = {of.id: of for one in self.table_states.values() for of in one.shape.types}
        renderer = self.context.target(self.into).renderer()
        found = list[str]()
        for load in loads:
            own = {of.id: of for of in self.table_states[load.table.id].shape.types}
            found += renewed(load.after.shape, known | own, there, renderer)
        return list(dict.fromkeys(found))

    def _load(self, loads: Sequence[TableLoad]) -> dict[int, int]:
        """Return how many rows each table has got; those that the target refuses are left out."""
        dsn = self.context.target(self.into).location
        finishing = {
            load.table.id: FinishTask(dsn, load.after.name, self._shadow(load), self._finishing(load)) for load in loads
        }
        sizes, parts = self.origin.sizes, [(load, self.parts.get(load.table.id)) for load in loads]
        some = [Chunk(load, rows, load.columns) for load, part in parts if part for rows in part.rows]
        size = sum(sizes[load.table.id] for load, part in parts if not part) + sum(one.rows.size for one in some)
        loading = needing(size, f"of the source's tables are loaded into target {self.into}")
        with loading, self.origin.chunks([load for load, part in parts if not part]) as all_rows:
            chunks = [*all_rows, *some]
            mark = f"i{self.isolation.mark}" if self.isolation else ""
            tasks = load_tasks(self.context, self.into, [(chunk, self._shadow(chunk.load)) for chunk in chunks], mark)
            work = [(chunk.load.table, task) for chunk, task in zip(chunks, tasks, strict=True)]
            found = load_tables(self.context.runner, work, finishing, size)
        self.warnings += found.warnings
        if self.refused is None:
            found.raise_refused()
        else:
            self.refused |= found.refused
        return {i: self.parts[i].count if i in self.parts else count for i, count in found.rows.items()}

    def _finishing(self, load: TableLoad) -> tuple[str, ...]:
        shadow, shape, types = self._shadow(load), load.after.shape, self.loader.facts.type_system
        steps = (
            *self.origin.finishing(load, shadow),
            *fitting(load, self._shadow_shape(load).with_(name=shadow), types),
            *cutting(load.cut, shape, shadow, types),
            *without_load_values(shape, shadow),
        )
        return self.loader.finishing(LoadPlan(shadow, shape, steps), self.context.target(self.into).renderer())

    def _place(self, loads: Sequence[TableLoad], counts: Mapping[int, int]) -> set[int]:
        """Put loaded tables in their places, and return the ids of those that are; try one again after the others.

        It may be possible then: partitions change bounds. One that never can does not stop the others.
        """
        refused: dict[int, CannotAdapt] = {}
        fence, at = self.context.fence, self.position()  # nobody else moves either of them meanwhile
        for load in each(loads, f"loaded tables are in place at target {self.into}"):
            table, rows = load.table, counts[load.table.id]
            self.context.check_lock()
            try:
                how = self.loader.put_in_place(self.placing(load, rows, at), fence)
                log.info("refreshed %s: %d rows, %s", table.name, rows, how)
            except CannotAdapt as error:
                refused[table.id] = error
            except NotByRange as why:
                log.info("%s: all rows are read: %s", table.name, why)
                del self.parts[table.id]
                self.whole.append(load)
        whole = {load.table.id for load in self.whole}
        placed = {load.table.id for load in loads} - refused.keys() - whole
        left = [load for load in loads if load.table.id in refused]
        if left and placed:
            return placed | self._place(left, counts)
        for load in left:
            with self.error_isolation(load.table):
                raise refused[load.table.id]
        return placed

    def position(self) -> Position:
        """Return the target's position now, without the state of each of its tables."""
        now = self.context.target(self.into).position()
        return now.lsn if now is not None else self.context.target(self.into).state().lsn

    def placing(self, load: TableLoad, rows: int, at: Position | None = None) -> Placing:
        """Return what the loader has to know to put a loaded table in its place.

        at: the target's position, where it is known.
        """
        before = self.table_states[load.table.id]
        return Placing(
            load.after,
            self._shadow(load),
            rows,
            previous=load.after.name if before.state is TableStatus.NEW else before.name,
            keeps=load.kept_columns,
            recorded=self.before(load.table),
            options=_options(self, load),
            at=self.position() if at is None else at,
            limit=load.limit,
            discarded=load.discarded,
            ranges=part.ranges if (part := self.parts.get(load.table.id)) else None,
            mark=self.origin.mark(load) if part is None and is_copy(load) else "",
        )


def _options(loader: TableLoader, load: TableLoad) -> RefreshOptions:
    """Return how a table is put in its place; some of its rows can only be replaced one by one."""
    options = loader.options.get(load.table.id, BULK)
    return options if load.limit is None else replace(options, granularity=Granularity.ROW, isolates=False)


def _of_trusted_owners(loader: TableLoader, loads: Mapping[int, TableLoad]) -> dict[int, TableLoad]:
    """Return the tables that use nothing of strangers at the target, and overwrite nobody's rows."""
    shapes = [load.after.shape.with_(name=load.after.name) for load in loads.values()]
    strange, found = loader.loader.facts.owned_by_strangers(shapes), dict[int, TableLoad]()
    for table_id, load in loads.items():
        with loader.error_isolation(load.table):
            if load.after.name in strange and not load.table.is_partitioned:  # `place_parent` says it of the tree
                raise strange[load.after.name]
            if load.after.name not in strange:
                _refuse_foreign(loader, load)
            found[table_id] = load
    return found


def _refuse_foreign(loader: TableLoader, load: TableLoad) -> None:
    """Raise where a new table would overwrite rows that the channel did not write, or another table of its own."""
    table, name = load.table, load.after.name
    if loader.table_states[table.id].state is not TableStatus.NEW:
        return
    others = [other for other in loader.table_states.values() if other.name == name and other.table_id != table.id]
    if any(other.state is TableStatus.ORPHANED for other in others):  # it is used again
        return
    for other in others:
        if known := namesake(loader.context, loader.into, table, other):
            raise same_name(name, known, table.name)
    refuse_foreign(loader.context.channel.target(loader.into), loader.loader.facts, name, table.name)
