"""This operator maintains the tables of lakes: few files, and none that nobody needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow.sdk import Context

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.errors import WrittenMeanwhile
from airflow_ddlrepl.flow.stages import DELETED_PERCENT, MAINTAIN, RETAIN, SMALL_FILES
from airflow_ddlrepl.operators.base import DdlReplSparkOperator


class LakeMaintenanceOperator(DdlReplSparkOperator):
    """Compact the tables of lakes, let old snapshots expire, and remove files that belong to nothing.

    It waits for its turn, as each task that writes to the channel's targets. It fails with TGT-112 when a table had to
    be left, as when somebody else writes to it. XCom: tables (what was done, by table).

    :param tables: patterns `schema.table`, one per line; none is all of the channel. (templated)
    :param retain: how long tables can be read as they were: `5d`; at least the channel's `rewind_horizon`. (templated)
    :param small_files: so many small files of a table become few. (templated)
    :param deleted_percent: a file is written again where so many of its rows are deleted. (templated)
    """

    runs = MAINTAIN

    template_fields: Sequence[str] = (
        *DdlReplSparkOperator.template_fields,
        "tables",
        "retain",
        "small_files",
        "deleted_percent",
    )

    def __init__(
        self,
        *,
        tables: str = "",
        retain: str = RETAIN.default,
        small_files: str = SMALL_FILES.default,
        deleted_percent: str = DELETED_PERCENT.default,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.tables, self.retain = tables, retain
        self.small_files, self.deleted_percent = small_files, deleted_percent

    def _run(self, channel: Channel, context: Context) -> dict[str, Any]:
        done = super()._run(channel, context)
        if left := done.get("left"):
            named = "; ".join(f"{table}: {why}" for table, why in left.items())
            raise WrittenMeanwhile(
                f"channel {channel.name}: maintenance has left tables as they were: {named}",
                code="TGT-112",
                hint="the next try, or the next run, maintains them",
                retryable=True,
            )
        return done
