"""This module loads tables in a PostgreSQL target: the port `engines.target.Loader`, over one session."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.adapt.target_facts import Renderer
from airflow_ddlrepl.engines.abilities.rewinds import RereadsRows
from airflow_ddlrepl.engines.load_plan import LoadPlan, Step, UnfitValues, UnlikeRows
from airflow_ddlrepl.engines.postgres.catalog.server_facts import ServerFacts
from airflow_ddlrepl.engines.postgres.connection.conditions import unlike
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.lock_retry import patiently
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified
from airflow_ddlrepl.engines.postgres.connection.settings import SCHEMA, SPELLING
from airflow_ddlrepl.engines.postgres.load import empty_tables, partition_tree, swap
from airflow_ddlrepl.engines.postgres.load.load_chunk import forget_marks
from airflow_ddlrepl.engines.postgres.load.table_rows import TableRows, chunks, rows_of
from airflow_ddlrepl.engines.postgres.owners.strangers import owned_by_strangers, refuse_strangers, uses_of
from airflow_ddlrepl.engines.postgres.target.discarded_rows import found_by, making
from airflow_ddlrepl.engines.postgres.types.misfits import discarding, functions, nulling
from airflow_ddlrepl.engines.source_catalog import RowSelection
from airflow_ddlrepl.engines.target import Loader
from airflow_ddlrepl.engines.target_state import Fence, Placing
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.sessions.replication_origin import Origin


@dataclass
class PostgresLoader(Loader, RereadsRows):
    """A PostgreSQL loader loads tables for one refresh, over one session that changes tables.

    origin: of its session, none of whose statements waits for a lock for long; `claim` of a later run ends it.
    stem: how the names of its shadow tables begin. trusted: roles that may own what the tables use.
    """

    location: str = field(repr=False)
    holder: str
    origin: Origin
    stem: str
    trusted: tuple[str, ...] = ()

    @property
    def connection(self) -> Connection[Any]:
        """Return the connection of its session."""
        return self.origin.connection

    @cached_property
    def facts(self) -> ServerFacts:
        return ServerFacts(self.connection, self.trusted)

    def shadow(self, table_id: int) -> TableName:
        return TableName(SCHEMA, f"{self.stem}{table_id}")

    def place_parent(self, state: TableState, recorded: Table | None, fence: Fence) -> bool:
        refuse_strangers(self.connection, uses_of([state]), self.trusted)
        self.origin.stamp()
        return partition_tree.place_parent(self.connection, self.holder, state, recorded, fence)

    def exchange_tree(
        self, parents: Sequence[tuple[TableState, Table | None]], leaves: Sequence[Placing], fence: Fence
    ) -> list[str]:
        states = [*(one for one, _ in parents), *(one.state for one in leaves)]
        refuse_strangers(self.connection, uses_of(states), self.trusted)
        self.origin.stamp()
        exchange = partial(partition_tree.exchange_tree, self.connection, self.holder, parents, leaves, fence)
        return patiently(exchange, self.connection, self.location)

    def renew_types(self, statements: Sequence[str]) -> None:
        swap.renew_types(self.connection, statements)

    def make_shadow(self, shape: Table, shadow: TableName) -> None:
        swap.make_shadow(self.connection, shape, shadow)

    def finishing(self, plan: LoadPlan, render: Renderer) -> tuple[str, ...]:
        return (*super().finishing(plan, render), *swap.finish_sql(plan.shape, plan.shadow))

    def of_step(self, step: Step, plan: LoadPlan, render: Renderer) -> Sequence[str]:
        shadow = plan.shadow
        match step:
            case UnlikeRows(condition, here):
                return SPELLING, f"DELETE FROM {qualified(shadow)} WHERE {unlike(condition, here)}"
            case UnfitValues(columns, discards=True):
                move = discarding(shadow, found_by(shadow), plan.shape, columns)
                return SPELLING, making(shadow), *functions(columns), move
            case UnfitValues(columns):
                return SPELLING, *functions(columns), *(nulling(shadow, column) for column in columns)
            case _:
                return super().of_step(step, plan, render)

    def sizes(self, names: Mapping[int, TableName]) -> dict[int, int]:
        found = {}
        for key, name in names.items():
            row = self.connection.execute("SELECT pg_relation_size(%s::regclass)", [qualified(name)]).fetchone()
            found[key] = int(row[0]) if row else 0
        return found

    def chunks(self, place: TableName, selection: RowSelection, most: int) -> list[TableRows]:
        rows = replace(rows_of(self.location, selection), place=place)
        return chunks(rows, self.sizes({0: place})[0], most)

    def drop(self, names: Collection[TableName]) -> None:
        self.connection.execute(f"DROP TABLE {', '.join(map(qualified, names))}".encode())

    def create_empty(self, placings: Sequence[Placing], fence: Fence) -> bool:
        if owned_by_strangers(self.connection, uses_of([one.state for one in placings]), self.trusted):
            return False
        self.origin.stamp()
        create = partial(empty_tables.create_empty, self.connection, self.holder, placings, fence)
        return patiently(create, self.connection, self.location)

    def put_in_place(self, placing: Placing, fence: Fence) -> str:
        refuse_strangers(self.connection, uses_of([placing.state]), self.trusted)
        self.origin.stamp()
        place = partial(swap.put_in_place, self.connection, self.holder, placing, fence)
        return patiently(place, self.connection, self.location)

    def end(self) -> None:
        forget_marks(self.connection)
