"""This operator loads tables again: those that wait for a refresh, and those that a person names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.operators.base import DdlReplSparkOperator
from airflow_ddlrepl.operators.rewind import lines_of
from airflow_ddlrepl.ports.work import Runner


class RefreshOperator(DdlReplSparkOperator):
    """Load tables again: those that wait for a refresh, and those that a person names.

    XCom: tables (rows by table), reasons.

    :param tables: patterns `schema.table` of tables to load, one per line; none: only tables that wait. (templated)
    :param options: for the tables named, as `ddlrepl refresh --options` takes them: `-gr -v`. (templated)
    """

    stage: ClassVar[str] = "refresh"
    app: ClassVar[str] = "refresh"
    moves_rows: ClassVar[bool] = True

    template_fields: Sequence[str] = (*DdlReplSparkOperator.template_fields, "tables", "options")

    def __init__(self, *, tables: str = "", options: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tables, self.options = tables, options

    def _has_work(self, channel: Channel, run_id: str) -> bool:
        return bool(lines_of(self.tables) or self.options.strip()) or super()._has_work(channel, run_id)

    def arguments(self) -> list[str]:
        """Return the tables and the options as arguments of the app."""
        tables = [f"--table={table}" for table in lines_of(self.tables)]
        return [*tables, *([f"--options={self.options}"] if self.options.strip() else [])]

    def job(self, channel: Channel, run_id: str, runner: Runner) -> dict[str, Any]:
        """Refresh in this process and return the summary."""
        from airflow_ddlrepl.spark.jobs import refresh

        return refresh.run(channel, run_id, runner, tables=lines_of(self.tables), options=self.options)


class IsolatedRefreshOperator(RefreshOperator):
    """Load the tables that the channel file isolates (`-inow`), while other runs work on the channel.

    XCom: tables (rows by table).
    """

    stage: ClassVar[str] = "refresh_isolated"
    takes_turns: ClassVar[bool] = False

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(options="-inow", **kwargs)

    def _has_work(self, channel: Channel, run_id: str) -> bool:
        return DdlReplSparkOperator._has_work(self, channel, run_id)
