"""Plays a history into DuckDB files: each is as the source, but for tables that it can't have, which each cycle names.

python -m tests.histories.other_engines.duckdb_files 18 1-100
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.duckdb.connection.database import session
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.table_state import TableStatus
from airflow_ddlrepl.ports.work import InProcess
from tests.histories import histories
from tests.histories.equality import PATIENCE, TABLES, Locked, Name, asking
from tests.histories.player import CHECK, IDLE, REPLICATE, Player, Step
from tests.histories.refused_rows import LATE, TREES

WITHOUT = {
    "ADP-103": "can't compute the generated column",
    "ADP-110": "attributes that come or go|generated|at least one column|with its attributes",
    "ADP-111": "labels of .* inside",
    "ADP-104": "another table has the name",
    "ADP-130": "already exists|with name",
    "INT-105": "Infinity|NaN|out of range|294246",
}
"""Why a table may be suspended, by code: what a DuckDB file does not have."""
COLUMNS = "SELECT column_name, data_type FROM duckdb_columns() WHERE schema_name = ? AND table_name = ?"
PARENTS = TABLES.replace("c.relkind = 'r'", "c.relkind = 'p'")
PARTITIONED = f"""
SELECT * FROM ({PARENTS}) AS t (s, n, c, o) WHERE NOT EXISTS (
    SELECT FROM pg_partition_tree(format('%%I.%%I', s, n)::regclass) WHERE relid = ANY (%s::oid[]))
"""
"""Partitioned tables none of whose partitions is left out: a file shows their rows, too."""
Read = Callable[[str], Any]
Row = tuple[Any, ...]


def read_as(held: str) -> Read:
    """How texts of both sides become values that are equal where the engines mean the same. held: the file's type."""
    if held.startswith(("DECIMAL", "SMALLINT", "INTEGER", "BIGINT")):
        return Decimal
    if held in ("FLOAT", "DOUBLE"):
        return lambda text: repr(float(text))
    if held == "BOOLEAN":
        return lambda text: text[0]
    if held in ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"):
        return lambda text: re.sub(r"^(\S+) \(BC\)(.*)$", r"\1\2 BC", text)
    return lambda text: text


def file_difference(source: str, location: str, but: Collection[int]) -> str:
    """The first table of the source, but these by their ids, that a file has not, or has otherwise; "": none.

    Raises Locked.
    """
    with asking(source) as here, session(location, is_reader=True) as there:
        here.execute(f"{PATIENCE}; SET timezone = 'UTC'; SET datestyle = 'ISO'; SET bytea_output = 'hex'")
        try:
            found = here.execute(TABLES, [list(but)]).fetchall()
            trees = here.execute(PARTITIONED, [list(but), list(but)]).fetchall()
            if found:
                names = sql.SQL(", ").join(sql.SQL("ONLY {}").format(sql.Identifier(*one[:2])) for one in found)
                here.execute(sql.SQL("LOCK TABLE {} IN ACCESS SHARE MODE").format(names))
            for schema, name, columns, types in [*found, *trees]:
                is_alone = (schema, name, columns, types) in found
                held = dict(there.execute(COLUMNS, [schema, name]).fetchall())
                of = {column: text for column, text in zip(columns, types, strict=True) if column is not None}
                if held.keys() != of.keys():
                    return f"{schema}.{name} has {of}, in the file {held}"
                ours, theirs = (
                    _rows(here, (schema, name), of, held, is_alone=is_alone),
                    _there(there, (schema, name), of, held),
                )
                if ours != theirs:
                    return f"{schema}.{name}: {ours - theirs} is not in the file, which has {theirs - ours}; {held}"
        except psycopg.errors.LockNotAvailable as error:
            raise Locked from error
    return ""


def _rows(here: Any, name: Name, of: Mapping[str, str], held: Mapping[str, str], *, is_alone: bool) -> Counter[Row]:
    text = "CASE WHEN {0} IS DISTINCT FROM NULL THEN format('%s', {0}) END"  # as it is written, and not as it is cast
    texts = sql.SQL(", ").join(sql.SQL(text).format(sql.Identifier(column)) for column in of)
    rows = here.execute(
        sql.SQL("SELECT {} FROM {}{}").format(texts, sql.SQL("ONLY " if is_alone else ""), sql.Identifier(*name))
    ).fetchall()
    return _read(rows, of, held)


def _there(there: Any, name: Name, of: Mapping[str, str], held: Mapping[str, str]) -> Counter[Row]:
    def text(column: str) -> str:
        quoted = '"' + column.replace('"', '""') + '"'
        return f"'\\x' || lower(hex({quoted}))" if held[column] == "BLOB" else f"CAST({quoted} AS VARCHAR)"

    schema, table = (part.replace('"', '""') for part in name)
    rows = there.execute(f'SELECT {", ".join(map(text, of))} FROM "{schema}"."{table}"').fetchall()
    return _read(rows, of, held)


def _read(rows: Collection[Row], of: Mapping[str, str], held: Mapping[str, str]) -> Counter[Row]:
    reads = [read_as(held[column]) for column in of]
    return Counter(
        tuple(None if value is None else read(value) for read, value in zip(reads, row, strict=True)) for row in rows
    )


class Filing(Player):
    """Every target is a DuckDB file."""

    def __init__(self, urls: list[str], folder: Path, options: dict[str, Any]) -> None:
        files = [f"duckdb://{folder}/target{number}.duckdb" for number in range(len(urls) - 1)]
        super().__init__([urls[0], *files], folder, options)

    def _act(self, what: str) -> None:
        try:
            super()._act(what)
        except DdlReplError as error:
            if (error.retryable and error.code != "TGT-120") or not any(self._late().values()):
                raise
            assert error.table and error.hint, error
            self.outcome.suspended += 1
            if what in (CHECK, REPLICATE.text):
                with suppress(Locked):
                    self._check()

    def _late(self) -> dict[str, dict[int, str]]:
        """The tables that wait, by target and id, each with why; a suspended one a file or the stream can't have."""
        with flow.open_channel(self.replica.file, InProcess()) as run:
            told = flow.status(run).to_json()["targets"]
            left_out = {one.table_id for one in run.source.membership.left_out()}
            found = {}
            for name, target in told.items():
                why = {table["table_id"]: str(table["why"]) for table in target["tables"]}
                states = run.target(name).state().table_states.values()
                found[name] = {one.table_id: why.get(one.table_id, "") for one in states if one.state in LATE}
                for one in states:
                    reason = why.get(one.table_id, "")
                    known = one.table_id in left_out or any(
                        code in reason and re.search(text, reason) for code, text in WITHOUT.items()
                    )
                    assert one.state is not TableStatus.SUSPENDED or known, f"{one.name} is suspended: {reason}"
        return found

    def _check(self) -> None:
        with flow.open_channel(self.replica.file, InProcess()) as run:
            left_out = {one.table_id for one in run.source.membership.left_out() if not one.is_reloaded}
        late = self._late()
        for number, target in enumerate(self.targets):
            but = left_out | self._trees(late[f"target{number}"])
            if found := file_difference(self.source, target, but):
                raise AssertionError(f"file {number} differs: {found}")

    def _trees(self, ids: Iterable[int]) -> set[int]:
        """These tables with the partitions that they have at the source."""
        with asking(self.source) as source:
            return {one for (one,) in source.execute(TREES, [list(ids)])}

    def _names_of(self, ids: Iterable[int]) -> set[str]:
        query = "SELECT nspname || '.' || relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace"
        with asking(self.source) as source:
            return {one for (one,) in source.execute(f"{query} WHERE c.oid = ANY (%s::oid[])".encode(), [list(ids)])}

    def finish(self) -> None:
        """All transactions end, one last cycle: our own compare and ours in here find nothing but what waits."""
        for number, one in enumerate(self.sessions):
            if one.info.transaction_status is not IDLE:
                self.play(Step(number, "COMMIT"))
        self._end_prepared()
        self.play(REPLICATE)
        late = self._names_of(one for tables in self._late().values() for one in self._trees(tables))
        report = self.replica.compare()
        unlike = [one for one in report.tables if one.differences and str(one.table) not in late]
        assert not unlike, report.text()
        self._check()


if __name__ == "__main__":
    sys.exit(histories.main(sys.argv[1:], Filing))
