"""This module is the port of where readers find a lake's tables: in a database's entries, or in another catalog."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection

from airflow_ddlrepl.engines.lake.catalog.metadata import WINDOW, properties, write_like
from airflow_ddlrepl.engines.lake.catalog.views import Views
from airflow_ddlrepl.engines.lake.connection.files import Files
from airflow_ddlrepl.engines.lake.connection.warehouse import file_refusals
from airflow_ddlrepl.model.names import TableName

METADATA = "write.metadata.path"
"""The property that names the folder of a table's metadata files."""


@dataclass(frozen=True, slots=True)
class Move:
    """A move is what a window does with a table. name: of the table from then on; None: it is dropped.

    origin: its name before; None: it is new. base: the metadata file that readers have of it, and of a new table the
    one with no rows. begun, now: the metadata files with which it was staged, and with which the window ends.
    ours: the properties that only the staged table has. summary: what the newest snapshot of the window says besides.
    """

    name: TableName | None
    origin: TableName | None
    base: str
    begun: str = ""
    now: str = ""
    ours: Mapping[str, str] = field(default_factory=dict)
    summary: Mapping[str, str] = field(default_factory=dict)

    def finished(self, files: Files) -> str:
        """Return the metadata file that a table gets that stays, with its own properties again."""
        if self.now == self.begun:
            return self.base
        newer = (self.base, self.summary)
        if self.origin is None:
            if self.summary.keys() <= {WINDOW}:
                return self.now
            with file_refusals(self.name):
                return write_like(self.now, files, self.now.rpartition("/")[0], properties(self.now, files), newer)
        before = properties(self.base, files)
        changed = {key: value for key, value in properties(self.now, files).items() if key not in self.ours}
        again = {key: before[key] for key in self.ours if key in before}
        with file_refusals(self.origin):
            return write_like(self.now, files, self.ours[METADATA], {**changed, **again}, newer)


class Pointers(ABC):
    """These are the pointers to the metadata files of a lake's tables."""

    @property
    def views(self) -> Views | None:
        """Return the catalog's views; None: it can have none of Spark's."""
        return None

    @abstractmethod
    def of(self, connection: Connection, name: TableName) -> str | None:
        """Return the path of the metadata file that a table has now; None: there is none of this name."""

    @abstractmethod
    def kinds(self, connection: Connection) -> dict[TableName, str]:
        """Return whether each object of the catalog is a `table` or a `view`, by its name."""

    @abstractmethod
    def publish(self, connection: Connection, window: str, moves: Sequence[Move]) -> dict[TableName, str]:
        """Have readers see all moves of a window from the end of the open transaction on.

        Return a metadata file of each table that stays, by its name. Raises WrittenMeanwhile TGT-112 for a table that
        somebody else has written to, CannotAdapt ADP-104 for a name that is taken.
        """

    @abstractmethod
    def remove(self, connection: Connection, name: TableName) -> None:
        """Remove a table where there is one, at the end of the open transaction; its files stay."""

    def remove_old(self, name: TableName, before: float) -> int:
        """Remove old files of a table that the catalog keeps outside of the table's folder; return how many.

        before: the moment, in seconds since 1970, before which they were written.
        """
        return 0
