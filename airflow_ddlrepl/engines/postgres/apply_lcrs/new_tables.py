"""This module creates tables at a PostgreSQL target and copies rows into them, in the open transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.engines.abilities.lcr_target import NewTables
from airflow_ddlrepl.engines.postgres.apply_lcrs.table_layout import require_trusted
from airflow_ddlrepl.engines.postgres.catalog.server_facts import ServerFacts
from airflow_ddlrepl.engines.postgres.catalog.statistics import gather_statistics
from airflow_ddlrepl.engines.postgres.connection.copy import copy_in, feed
from airflow_ddlrepl.engines.postgres.connection.copy_text import copy_text
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import CONTENTION, passing
from airflow_ddlrepl.engines.postgres.connection.settings import SPELLING_HERE
from airflow_ddlrepl.engines.postgres.ddl.render import attach, create_table, create_types, key_sql
from airflow_ddlrepl.errors import ApplyError
from airflow_ddlrepl.model.table import Table

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class PostgresNewTables(NewTables):
    """These tables are made in the transaction that is open on a connection."""

    connection: Connection[Any]
    trusted: Collection[str] = ()

    @cached_property
    def facts(self) -> ServerFacts:
        return ServerFacts(self.connection)

    def create(self, shape: Table) -> None:
        require_trusted(self.connection.cursor(), {shape.name: shape.types}, self.trusted)
        statements = [*create_types(shape.types), *create_table(shape, with_key=False)]
        with _refusals(shape, "to create the table"):
            for statement in statements:
                self.connection.execute(statement.encode())
            if shape.is_partitioned:
                self._finish(shape)

    def fill(self, shape: Table, rows: pa.Table) -> None:
        columns = tuple(rows.column_names)
        blocks = (copy_text(piece.columns, piece.num_rows) for piece in rows.to_batches())
        with _refusals(shape, "rows of the table"):
            self.connection.execute(SPELLING_HERE.encode())
            feed(self.connection, copy_in(shape.name, columns, binary=False), blocks)

    def finish(self, shape: Table, origins: str) -> str:
        import psycopg

        if shape.is_partitioned:
            return ""
        try:
            with _refusals(shape, "the table's keys"):
                self._finish(shape)
        except psycopg.errors.UniqueViolation as error:
            raise ApplyError(
                f"rows of {origins} come together in one table, and have the same key: {error.diag.message_detail}",
                code="APL-131",
                table=shape.name,
                hint="let one of the ways give the table another name (rename_table), or take fewer rows; nothing of"
                " the table is at the target",
            ) from None
        return gather_statistics(self.connection, shape.name)

    def _finish(self, shape: Table) -> None:
        """Make the keys, then let the table be a partition: it would get them once more from the partitioned table."""
        partition = [] if shape.partition is None else [attach(shape.name, shape.partition)]
        for statement in (*key_sql(shape), *partition):
            self.connection.execute(statement.encode())


@contextmanager
def _refusals(shape: Table, what: str) -> Iterator[None]:
    """Raise a driver's error as ApplyError APL-130; what is the server's trouble passes as it is."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        if error.sqlstate in CONTENTION or isinstance(error, psycopg.errors.UniqueViolation):
            raise
        if (trouble := passing(error, "the target")) is not None:
            raise trouble from error
        raise ApplyError(
            f"the target refuses {what}: {' '.join(str(error).split())}",
            code="APL-130",
            table=shape.name,
            hint="nothing of the table is at the target: mend what it says, or create and fill the table by hand, and"
            " give its position by set_table_instantiation_scn; then run again",
        ) from None
