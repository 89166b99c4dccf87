"""This module refreshes a target's table row by row: only rows that differ from a loaded shadow table are written.

Rows belong together by the replication key, as its types find values equal; they differ when the text of any column
does, as `ddlrepl compare` sees it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.adapt.shape.alter_in_place import Sql, relayout
from airflow_ddlrepl.engines.postgres.connection.conditions import within
from airflow_ddlrepl.engines.postgres.connection.errors import CONTENTION, passing
from airflow_ddlrepl.engines.postgres.connection.key_range_sql import in_ranges, ranges_sql
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.postgres.connection.settings import SAFE_PATH
from airflow_ddlrepl.engines.postgres.ddl.render import PostgresDdl
from airflow_ddlrepl.engines.postgres.merge.constraints import Session, deferred, resting
from airflow_ddlrepl.engines.postgres.types.type_system import POSTGRES_TYPES
from airflow_ddlrepl.errors import CannotAdapt, Unsupported
from airflow_ddlrepl.mapping.extra_columns import value_of
from airflow_ddlrepl.model.key_ranges import KeyRanges
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.notation.condition.row_limit import RowLimit
from airflow_ddlrepl.notation.refresh_options import BY_ROW, Difference, RefreshOptions

log = logging.getLogger("ddlrepl")
FOUND = '"ddlrepl differences"'
_PLACE, _SHADOWS = "t.ctid OPERATOR(pg_catalog.=) d.there", "s.ctid OPERATOR(pg_catalog.=) d.here"
_WHERE = {
    Difference.DELETE: "d.here IS NULL",
    Difference.UPDATE: "d.here IS NOT NULL AND d.there IS NOT NULL",
    Difference.INSERT: "d.there IS NULL",
}
_DONE = {Difference.DELETE: "deleted", Difference.UPDATE: "updated", Difference.INSERT: "inserted"}


class NotByRow(Exception):
    """This exception says why a table's rows can't be written one by one. Nothing has changed then."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """An exchange is one table and the rows that it is to have.

    old: as it is, inspected and locked. recorded: the same with the source's ids, where the channel knows it.
    wanted: its shape afterwards; whole: that with the columns that people added. shadow: holds the source's rows.
    kept: columns that the source doesn't have. limit: the rows of the table that the shadow's replace; None: all.
    ranges: those of the key that the shadow's rows are of, the others are equal; None: all. chosen: SQL that is true
    for the table's rows `t` that the shadow's replace; empty: all.
    """

    old: Table
    recorded: Table | None
    wanted: Table
    whole: Table
    shadow: TableName
    kept: Sequence[str] = ()
    limit: RowLimit | None = None
    ranges: KeyRanges | None = None
    chosen: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """This value says what was done, as text.

    left: how many differences a mask has left.
    """

    text: str
    left: int


def write_differences(cursor: Any, exchange: Exchange, options: RefreshOptions, session: Session) -> Written:
    """Write the rows of a table that differ from its shadow table, in the open transaction.

    Raises NotByRow; a lock that can't be had passes.
    """
    import psycopg

    if exchange.wanted.key is None:
        raise NotByRow("it has no key")
    if exchange.old.is_partitioned:
        raise NotByRow("the target's table is partitioned")
    try:
        with cursor.connection.transaction():
            return _RowByRow(cursor, exchange, options, session).run()
    except Unsupported as error:
        raise NotByRow(error.message) from None
    except psycopg.Error as error:
        if _passes(error):
            raise
        raise NotByRow(" ".join(str(error).split())) from None


def by_row(
    cursor: Any, exchange: Exchange | None, options: RefreshOptions, session: Session
) -> tuple[Written | None, str]:
    """Write the differences row by row; return what was written, or why that is not possible.

    Raises CannotAdapt ADP-140 where a bulk load would break an option.
    """
    if exchange is None:
        return None, "the target had no such table"
    limit, all_loaded = exchange.limit, exchange.ranges is None
    if options == BY_ROW and limit is None and _is_empty(cursor, exchange.old.name):
        return None, "the target's table was empty"
    try:
        return write_differences(cursor, exchange, options, session), ""
    except NotByRow as refusal:
        if (not options.mask and not options.fires and limit is None) or not all_loaded:
            return None, str(refusal)
        broken = "overwrite rows that the mask protects" if options.mask else "not fire the table's triggers"
        if limit is not None:
            broken = "delete rows that the condition leaves (`restrict`)"
        raise CannotAdapt(
            f"the table can't be refreshed row by row ({refusal}), and a bulk load would {broken}",
            code="ADP-140",
            table=exchange.wanted.name,
            hint=_IN_BULK if limit is None else _LATER,
        ) from None


_IN_BULK = "nothing was changed; `ddlrepl refresh --table` with this table (of the source) loads it in bulk"
_LATER = "nothing was changed; the next cycle tries again, after what the log brings until then"


def _is_empty(cursor: Any, table: TableName) -> bool:
    cursor.execute(f"SELECT NOT EXISTS (SELECT FROM ONLY {qualified(table)})".encode())
    return bool(cursor.fetchone()[0])


class _RowByRow:
    """This object refreshes one table row by row.

    Its methods are the steps, in order. t is the table, s its shadow, d a difference: the places of its rows in both.
    """

    def __init__(self, cursor: Any, exchange: Exchange, options: RefreshOptions, session: Session) -> None:
        self.cursor = cursor
        self.exchange = exchange
        self.options = options
        self.session = session
        self.name = exchange.wanted.name
        self.table = qualified(self.name)
        self.shadow = qualified(exchange.shadow)
        self.keys = exchange.wanted.key_columns()
        self.columns = [column for column in exchange.wanted.columns if column.name not in exchange.kept]
        self.plain = [column for column in self.columns if not column.generated]
        self.columns = [column for column in self.columns if not value_of(column)]

    def run(self) -> Written:
        if self.options.fires and not self.session.enforces:
            self.cursor.execute("SET LOCAL session_replication_role = origin")
            self.session = Session(enforces=True)
        render = PostgresDdl(self.cursor.connection.info.server_version // 10000)
        whole, mask = self.exchange.whole, self.options.mask
        layout = relayout(self.exchange.old, self.exchange.recorded, whole, render, POSTGRES_TYPES, mask)
        if self.exchange.ranges is not None and (layout.before or layout.after):
            raise NotByRow("its layout has changed since its rows were compared")
        for ways in layout.before:
            self._first_that_works(ways)
        found = self._find()
        if self.options.is_verbose:
            self._tell()
        written = self._write({kind: count for kind, count in found.items() if count and kind not in mask})
        self._run(layout.after)
        self._run([f"DROP TABLE {FOUND}, {self.shadow}"])
        counts = [f"{written.get(kind, 0)} {_DONE[kind]}" for kind in Difference if kind not in mask]
        counts += [f"{found[kind]} not {_DONE[kind]} (masked)" for kind in Difference if kind in mask]
        return Written(f"row by row: {', '.join(counts)}", sum(found[kind] for kind in mask))

    def _run(self, statements: Iterable[str]) -> None:
        for statement in statements:
            self.cursor.execute(statement.encode())

    def _first_that_works(self, ways: Sequence[Sql]) -> None:
        import psycopg

        for number, way in enumerate(ways, 1):
            try:
                with self.cursor.connection.transaction():
                    self._run(way)
                return
            except psycopg.Error as error:
                if number == len(ways) or _passes(error):
                    raise

    def _find(self) -> dict[Difference, int]:
        """Count the differences, by kind, and store where they are in a temporary table, whatever is written then."""
        same = " AND ".join(_same(column) for column in self.keys)
        self._run(
            [
                f"CREATE TEMPORARY TABLE {FOUND} ON COMMIT DROP AS SELECT t.ctid AS there, s.ctid AS here"
                f" FROM {self._rows()} t FULL JOIN {self.shadow} s ON {same}"
                f" WHERE t.ctid IS NULL OR (s.ctid IS NULL AND {within(self.exchange.limit, 't')})"
                f" OR (s.ctid IS NOT NULL AND {_unlike(self.columns)})",
                f"ANALYZE {FOUND}",
                f"SELECT {', '.join(f'count(*) FILTER (WHERE {_WHERE[kind]})' for kind in Difference)} FROM {FOUND} d",
            ]
        )
        return dict(zip(Difference, self.cursor.fetchone(), strict=True))

    def _rows(self) -> str:
        """Return SQL for the table, or for its rows that the shadow's replace."""
        ranges = self.exchange.ranges
        if chosen := self.exchange.chosen:
            return f"(SELECT t.ctid, t.* FROM ONLY {self.table} t WHERE {chosen})"
        if ranges is None:
            return f"ONLY {self.table}"
        return f"(SELECT t.ctid, t.* FROM {ranges_sql(ranges)}, ONLY {self.table} t WHERE {in_ranges(ranges, 't.')})"

    def _write(self, wanted: Mapping[Difference, int]) -> dict[Difference, int]:
        """Write the wanted kinds of differences; return how many rows, by kind.

        Raises NotByRow when some are missing.
        """
        written: dict[Difference, int] = {}
        sql = {
            Difference.DELETE: f"DELETE FROM ONLY {self.table} t USING {FOUND} d WHERE {_PLACE}"
            f" AND {_WHERE[Difference.DELETE]}",
            Difference.UPDATE: self._update(),
            Difference.INSERT: self._insert(),
        }
        with self._in_order():
            for kind, count in wanted.items():
                self._run([sql[kind]])
                written[kind] = self.cursor.rowcount
                if written[kind] != count:
                    self._explain(kind, count, written[kind])
        return written

    @contextmanager
    def _in_order(self) -> Iterator[None]:
        """Check foreign keys when all is written; disable triggers and rules, unless the options want them to fire."""
        keys = deferred(self.cursor, [self.name], self.session)
        if self.options.fires:
            with self._in_their_path(), keys:
                yield
        else:
            with resting(self.cursor, self.name, self.name, self.session), keys:
                yield

    @contextmanager
    def _in_their_path(self) -> Iterator[None]:
        """Set the role's own search path inside the `with`, so that triggers find their tables."""
        self._run(["SET LOCAL search_path TO DEFAULT"])
        yield
        self._run([SAFE_PATH.replace("SET ", "SET LOCAL ", 1)])

    def _explain(self, kind: Difference, wanted: int, written: int) -> None:
        message = f"{written} of {wanted} rows were {_DONE[kind]}, a trigger or rule of the table prevented the others"
        if not self.options.fires:
            raise NotByRow(message)
        log.warning("%s: %s", self.name, message)

    def _update(self) -> str:
        sets = ", ".join(f"{quote(c.name)} = s.{quote(c.name)}" for c in self.plain)
        return f"UPDATE ONLY {self.table} t SET {sets} FROM {FOUND} d JOIN {self.shadow} s ON {_SHADOWS} WHERE {_PLACE}"

    def _insert(self) -> str:
        names = ", ".join(quote(column.name) for column in self.plain)
        values = ", ".join(f"s.{quote(column.name)}" for column in self.plain)
        rows = f"{FOUND} d JOIN {self.shadow} s ON {_SHADOWS} WHERE {_WHERE[Difference.INSERT]}"
        return f"INSERT INTO {self.table} ({names}) OVERRIDING SYSTEM VALUE SELECT {values} FROM {rows}"

    def _tell(self) -> None:
        """Write each difference into Python's log, as the SQL that mends it."""
        names = ", ".join(quote(column.name) for column in self.plain)
        values = _joined([f"format('%L', s.{quote(column.name)})" for column in self.plain], ", ")
        sets = _joined([f"CASE WHEN {_unlike([c])} THEN {_equals('s', c)} END" for c in self.plain], ", ")
        key = _joined([_equals("t", column) for column in self.keys], " AND ")
        at = literal(self.table)
        sql = {
            Difference.DELETE: f"format('DELETE FROM %s WHERE %s', {at}, {key})",
            Difference.UPDATE: f"format('UPDATE %s SET %s WHERE %s', {at}, {sets}, {key})",
            Difference.INSERT: f"format('INSERT INTO %s (%s) VALUES (%s)', {at}, {literal(names)}, {values})",
        }
        for kind in Difference:
            masked = " (masked)" if kind in self.options.mask else ""
            query = (
                f"SELECT {sql[kind]} FROM {FOUND} d LEFT JOIN ONLY {self.table} t ON {_PLACE}"
                f" LEFT JOIN {self.shadow} s ON {_SHADOWS} WHERE {_WHERE[kind]} ORDER BY d.here, d.there"
            )
            with self.cursor.connection.cursor(name="ddlrepl told") as statements:
                statements.itersize = 1000
                for (statement,) in statements.execute(query.encode()):
                    log.info("difference in %s%s: %s", self.name, masked, statement)


def _passes(error: Any) -> bool:
    """Return whether the caller has to handle the error: a lock to wait for, or the server's trouble."""
    return error.sqlstate in CONTENTION or passing(error, "the target") is not None


def _same(column: Column) -> str:
    """Return SQL that is true where a column is equal in the table and its shadow.

    Types of people's own have their `=` anywhere; arrays know their elements'.
    """
    name = quote(column.name)
    return f"t.{name} = s.{name}" if column.type.is_builtin else f"ARRAY[t.{name}] = ARRAY[s.{name}]"


def _unlike(columns: Sequence[Column]) -> str:
    """Return SQL that is true where one of these columns differs between the table and its shadow.

    A row's text differs for 1 and 1.00, for NULL, '' and a composite of NULLs.
    """
    table, shadow = (", ".join(f"{side}.{quote(column.name)}" for column in columns) for side in "ts")
    return f"ROW({table})::text IS DISTINCT FROM ROW({shadow})::text"


def _equals(side: str, column: Column) -> str:
    return f"format('%s = %L', {literal(quote(column.name))}, {side}.{quote(column.name)})"


def _joined(texts: Sequence[str], between: str) -> str:
    return f"array_to_string(ARRAY[{', '.join(texts)}]::text[], {literal(between)})"
