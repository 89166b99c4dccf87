"""This module is the port of pointers for a catalog that changes one table at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from airflow_ddlrepl.engines.lake.catalog.intents.renames import in_order
from airflow_ddlrepl.engines.lake.catalog.metadata import content, properties, table_folder, write_like
from airflow_ddlrepl.engines.lake.catalog.piecewise.catalogs import catalog_of
from airflow_ddlrepl.engines.lake.catalog.piecewise.port import OneByOne
from airflow_ddlrepl.engines.lake.catalog.piecewise.steps import Step, publication
from airflow_ddlrepl.engines.lake.catalog.port import Move, Pointers
from airflow_ddlrepl.engines.lake.connection.conflicts import name_taken
from airflow_ddlrepl.engines.lake.connection.location import Location
from airflow_ddlrepl.engines.lake.connection.single_catalog import SingleCatalog
from airflow_ddlrepl.engines.lake.connection.warehouse import file_refusals
from airflow_ddlrepl.model.names import TableName


@dataclass(frozen=True, slots=True)
class PiecewisePointers(Pointers):
    """These pointers are in a catalog that changes one table at a time."""

    place: Location
    named: SingleCatalog

    @property
    def catalog(self) -> OneByOne:
        """Return the catalog."""
        return catalog_of(self.place, self.named)

    def of(self, connection: Connection, name: TableName) -> str | None:
        known = publication(connection).now
        return known[name] if name in known else self.catalog.of(name)

    def kinds(self, connection: Connection) -> dict[TableName, str]:
        known = publication(connection).now
        others = {name: kind for name, kind in self.catalog.kinds().items() if name not in known}
        return {**others, **{name: "table" for name, path in known.items() if path is not None}}

    def publish(self, connection: Connection, window: str, moves: Sequence[Move]) -> dict[TableName, str]:
        found = {one.name: self._finished(one) for one in moves if one.name is not None}
        steps = [self._known(one) for one in _steps(moves, found)]
        free = {one.origin for one in steps if one.origin is not None}
        for one in steps:
            if one.name is not None and one.name not in free and self.of(connection, one.name) is not None:
                raise name_taken(one.name)
        renamed = [(one.new, one.origin, one.name) for one in steps if one.name and one.origin not in (None, one.name)]
        to_publish = publication(connection)
        to_publish.window = window
        to_publish.steps += _after_others(steps)
        to_publish.renames += in_order([(path, old, new) for path, old, new in renamed if old])
        return found

    def _finished(self, move: Move) -> str:
        """Return the metadata file that a table gets; one that is renamed gets a new one, by which it is known then."""
        found, files = move.finished(self.place.files), self.place.files
        if found != move.base or move.origin in (None, move.name):
            return found
        with file_refusals(move.origin):
            return write_like(found, files, f"{table_folder(found, files)}/metadata", properties(found, files))

    def _known(self, step: Step) -> Step:
        """Return a step with what its table is known by."""
        before, after = (content(path, self.place.files) for path in (step.base, step.new))
        newest = after.get("current-snapshot-id")  # a table that is rolled back has an old one
        is_new = all(newest != one["snapshot-id"] for one in before.get("snapshots", ()))
        return replace(step, uuid=before["table-uuid"], snapshot=newest if is_new else None)

    def remove(self, connection: Connection, name: TableName) -> None:
        if (base := self.catalog.of(name)) is not None:
            publication(connection).steps.append(self._known(Step(None, name, base, base)))

    def remove_old(self, name: TableName, before: float) -> int:
        return self.catalog.remove_old(name, before)


def _steps(moves: Sequence[Move], finished: dict[TableName, str]) -> Iterator[Step]:
    """Yield the steps of moves that change something; a table that is made in place of another one is one step."""
    gone = {one.origin: one.base for one in moves if one.name is None and one.origin is not None}
    for one in moves:
        if one.name is None:
            continue
        if one.origin is None and one.name in gone:
            yield Step(one.name, one.name, gone.pop(one.name), finished[one.name])
        elif one.origin != one.name or finished[one.name] != one.base:
            yield Step(one.name, one.origin, one.base, finished[one.name])
    yield from (Step(None, name, base, base) for name, base in gone.items())


def _after_others(steps: Sequence[Step]) -> list[Step]:
    """Return steps in an order in which a table comes after the one whose name it gets; a circle begins anywhere."""
    found, left = list[Step](), list(steps)
    while left:
        names = {one.origin for one in left}
        free = next((one for one in left if one.name in (None, one.origin) or one.name not in names), left[0])
        left.remove(free)
        found.append(free)
    return found
