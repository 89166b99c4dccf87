"""This module rolls a table of a lake back to a snapshot that a run of the channel has left, in one commit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from airflow_ddlrepl.engines.abilities.snapshots import HasSnapshots, RolledBackTo
from airflow_ddlrepl.engines.lake.catalog.heads import stored_head
from airflow_ddlrepl.engines.lake.catalog.metadata import content
from airflow_ddlrepl.engines.lake.catalog.window import WindowKind
from airflow_ddlrepl.engines.lake.connection.java import java_table
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.connection.warehouse import file_refusals
from airflow_ddlrepl.engines.lake.merge.refusals import refusals
from airflow_ddlrepl.engines.lake.target import state
from airflow_ddlrepl.engines.lake.target.own_snapshots import OwnSnapshots
from airflow_ddlrepl.engines.lake.target.repetition import repeated
from airflow_ddlrepl.engines.target_state import Fence
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.table_state import TableState

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.lake.target_port import LakeTarget


class RollsBack(HasSnapshots):
    """This part of a lake rolls its tables back."""

    def roll_back(
        self, table: TableState, wanted: int | None, after: Callable[[RolledBackTo], TableState], fence: Fence
    ) -> RolledBackTo:
        return repeated(partial(_roll_back, cast("LakeTarget", self), table, wanted, after, fence))


def _roll_back(
    target: LakeTarget,
    table: TableState,
    wanted: int | None,
    after: Callable[[RolledBackTo], TableState],
    fence: Fence,
) -> RolledBackTo:
    """Roll a table back, once: somebody else may write to it meanwhile."""
    name, place = table.name, location_of(target.location)
    window = target.window(f"{WindowKind.ROLL_BACK}{fence.token}")
    window.begin()
    with refusals(name), file_refusals(name):
        metadata = content(window.metadata(name), place.files)
        with target.reading() as connection:
            left = stored_head(connection, place.catalog, name)
        own = OwnSnapshots(table, metadata, left, target.window("").namespace, fence.epoch)
        found = own.chosen(wanted)
        own.require_readable(found.snapshot, place.files)
        then = after(found)
        if found.snapshot != metadata.get("current-snapshot-id"):
            staged = java_table(window.spark, window.table(name))
            staged.manageSnapshots().setCurrentSnapshot(found.snapshot).commit()
    window.commit()
    with target.writing() as connection, target.views_renewed(connection):
        state.hold(connection, target.holder, fence)
        window.flip(connection)
        state.write_table_states(connection, target.holder, {then.table_id: then})
        reach("roll_back.transaction")
    return found
