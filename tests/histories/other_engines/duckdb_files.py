"""Plays a history into DuckDB files: each is as the source, but for tables that it can't have, which each cycle names.

python -m tests.histories.other_engines.duckdb_files 18 1-100
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.duckdb.connection.database import session
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.table_state import TableStatus
from airflow_ddlrepl.ports.work import InProcess
from tests.histories import histories
from tests.histories.equality import Locked, Name, asking
from tests.histories.other_engines.held import Held, Row, held_difference
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


class File:
    """A file that is read."""

    def __init__(self, there: Any) -> None:
        self.there = there

    def columns(self, name: Name) -> dict[str, str]:
        return dict(self.there.execute(COLUMNS, list(name)).fetchall())

    def rows(self, name: Name, columns: Mapping[str, str]) -> list[Row]:
        schema, table = (part.replace('"', '""') for part in name)
        texts = ", ".join(text_of(column, of == "BLOB") for column, of in columns.items())
        found: list[Row] = self.there.execute(f'SELECT {texts} FROM "{schema}"."{table}"').fetchall()
        return found


def text_of(column: str, is_bytes: bool) -> str:
    """DuckDB's SQL for the text of a column's values."""
    quoted = '"' + column.replace('"', '""') + '"'
    return f"'\\x' || lower(hex({quoted}))" if is_bytes else f"CAST({quoted} AS VARCHAR)"


@contextmanager
def reading_file(location: str) -> Iterator[Held]:
    """The file as it is now."""
    with session(location, is_reader=True) as there:
        yield File(there)


def file_difference(source: str, location: str, but: Collection[int]) -> str:
    """The first table of the source, but these by their ids, that a file has not, or has otherwise; "": none.

    Raises Locked.
    """
    return held_difference(source, reading_file(location), but)


class Filing(Player):
    """Every target is a DuckDB file. location: of a target. shows_trees: can a partitioned table be read there?"""

    location = "duckdb://{folder}/target{number}.duckdb"
    shows_trees = True

    def __init__(self, urls: list[str], folder: Path, options: dict[str, Any]) -> None:
        places = [self.place(folder, number) for number in range(len(urls) - 1)]
        super().__init__([urls[0], *places], folder, options)

    def place(self, folder: Path, number: int) -> str:
        """The location of a target."""
        return self.location.format(folder=folder, number=number)

    def reading(self, location: str) -> AbstractContextManager[Held]:
        """The target as it is now."""
        return reading_file(location)

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
        """The tables that wait, by target and id, each with why; a suspended one nobody could have."""
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
            if found := held_difference(self.source, self.reading(target), but, shows_trees=self.shows_trees):
                raise AssertionError(f"target {number} differs: {found}")

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
