"""Targets whose tables are many files, of now and of earlier moments, are maintained."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from airflow_ddlrepl.engines.ability import Ability, Lack
from airflow_ddlrepl.engines.target import Target
from airflow_ddlrepl.engines.target_state import Fence
from airflow_ddlrepl.model.names import TableName


@dataclass(frozen=True, slots=True)
class Thresholds:
    """These thresholds say what maintenance changes.

    retain_seconds: so long a table can be read as it was. small_files: so many small files of a table become few.
    deleted_percent: a file is written again where so many of its rows are deleted.
    """

    retain_seconds: int
    small_files: int
    deleted_percent: int


@dataclass(frozen=True, slots=True)
class Maintained:
    """This is what the maintenance of one table did.

    rewritten: files that others have replaced. written: those others. expired: snapshots. removed: files that belonged
    to nothing any more.
    """

    rewritten: int = 0
    written: int = 0
    expired: int = 0
    removed: int = 0


class NeedsMaintenance(Ability, ABC):
    """An engine maintains the tables of its targets where each run adds files to them, and earlier ones stay."""

    lack = Lack("has no files of tables to look after", "name a target that is a lake")

    @abstractmethod
    def maintain(self, target: Target, table: TableName, thresholds: Thresholds, fence: Fence) -> Maintained:
        """Rewrite a table's small files, and remove what nobody needs any more; no reader sees other rows.

        Raises Fenced LCK-102, TargetError TGT-112 where somebody else has written to the table meanwhile.
        """
