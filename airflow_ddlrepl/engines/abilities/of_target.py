"""These are small abilities of a target, beside those that have a port of their own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from airflow_ddlrepl.engines.ability import Ability, Lack
from airflow_ddlrepl.engines.target import Loader
from airflow_ddlrepl.engines.target_state import Applied, CutOver, Fence, TargetWork
from airflow_ddlrepl.model.settings.table_settings import OwnColumns
from airflow_ddlrepl.model.table import Table

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.comparing import RepairTask


class HasOwnColumns(Ability):
    """A target has own columns where a table can have what `target_tables` in the channel file gives it."""

    lack = Lack(
        "has no tables with deleted rows or columns of its own",
        "take the table, or the target, out of `target_tables`",
        "ADP-164",
    )

    def require_possible(self, own: OwnColumns, table: Table) -> None:
        """Raise Unsupported ADP-164 for what of these a table here can't have. table: the source's."""
        return None


class LeavesOutChanges(Ability):
    """A target leaves out changes where it applies others to rows that may be there already, or missing."""

    lack = Lack(
        "can't leave out some changes of a table",
        "write `condition` in `restrict`, which is for all that is taken, without `ignore`",
        "ADP-178",
    )


class ReplacesSomeRows(LeavesOutChanges):
    """A target replaces some rows of a table where a load can leave the other ones as they are.

    Changes of the log that the loaded rows contain are applied once more, so it leaves out changes, too.
    """

    lack = Lack(
        "can't replace some rows of a table",
        "write `condition` in `restrict`, which is for all that is taken, in place of `refresh`",
        "ADP-178",
    )


class ArrangesRows(Ability, ABC):
    """A target arranges rows where the channel file can say how tables are partitioned and sorted."""

    lack = Lack(
        "does not partition or sort tables by the channel file", "take `partitions` and `sort` out of this target"
    )

    @abstractmethod
    def require_arrangement(self, table: Table) -> None:
        """Raise Unsupported ADP-196 where rows of a new table can't be arranged as the file says. table: as there."""


class ReplaysStatements(Ability):
    """A target replays statements where it runs the text of the source's (`Renderer.replayed_text`)."""

    lack = Lack("does not run the statements of a source", "take the table out of `replay_ddl`")


class FindsConflicts(Ability):
    """A target finds changes that were made to another row than it has, and does what `conflicts` says of them."""

    lack = Lack(
        "does not look for conflicts",
        "take the table, or the target, out of `conflicts`",
        "ADP-194",
    )


class RepairsRows(Ability, ABC):
    """A target repairs rows where it writes chosen rows of a table."""

    lack = Lack(
        "does not write single rows of a table",
        "`ddlrepl refresh --table` with this table (of the source) loads it whole",
        "ADP-193",
    )

    @abstractmethod
    def repair_rows(self, task: RepairTask, fence: Fence, in_flight: Callable[[], Iterable[str]]) -> str:
        """Write chosen rows of a table as the source has them; return what was done, as text.

        in_flight: called when the source's rows are read: keys of rows that are left as they are, for log that is to
        come changes them. Raises TargetError TGT-182 where the rows can't be written one by one, Fenced LCK-102.
        """


class LoadsBeside(Ability, ABC):
    """A target loads tables beside a run that writes to the other ones."""

    lack = Lack("loads no tables while a run writes", "take `-inow` out of `refresh_options`")

    @abstractmethod
    def loading_isolated(self, mark: int) -> AbstractContextManager[Loader]:
        """Open a session that loads tables while other runs write; what loads of lower marks have left is removed."""


class AppliesTogether(Ability, ABC):
    """A target applies the programs of two holders of its database together, so that they are seen in one moment."""

    lack = Lack(
        "can't show a table's rows and its changes in one moment",
        "write `history: mirror`, or `changelog` at a target of its own",
        "ADP-164",
    )

    @abstractmethod
    def apply_together(self, works: Sequence[TargetWork], fence: Fence) -> list[Applied]:
        """Do what `Target.apply` does for each of these holders of the target's, all or nothing of it."""


class CutsOver(Ability, ABC):
    """A target cuts over where it can store that applications use it instead of the source."""

    lack = Lack("does not store that applications use it", "leave the target out of the channel before the switch")

    @abstractmethod
    def cut_over(self) -> CutOver | None:
        """Return the mark that applications use this target instead of the source; None: there is none."""

    @abstractmethod
    def mark_cut_over(self, mark: CutOver | None, fence: Fence) -> None:
        """Store, durably, that applications use this target, or with None that the channel goes on.

        Raises Fenced LCK-102 when another run has been here.
        """
