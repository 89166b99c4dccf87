"""This operator loads tables again: those that wait for a refresh, and those that a person names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.flow.arguments import lines_of
from airflow_ddlrepl.flow.stages import REFRESH, REFRESH_ISOLATED
from airflow_ddlrepl.operators.base import DdlReplSparkOperator


class RefreshOperator(DdlReplSparkOperator):
    """Load tables again: those that wait for a refresh, and those that a person names.

    XCom: tables (rows by table), reasons.

    :param tables: patterns `schema.table` of tables to load, one per line; none: only tables that wait. (templated)
    :param options: for the tables named, as `ddlrepl refresh --options` takes them: `-gr -v`. (templated)
    """

    runs = REFRESH

    template_fields: Sequence[str] = (*DdlReplSparkOperator.template_fields, "tables", "options")

    def __init__(self, *, tables: str = "", options: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tables, self.options = tables, options

    def _do_here(self, channel: Channel, run_id: str) -> bool:
        return bool(lines_of(self.tables) or self.options.strip()) or super()._do_here(channel, run_id)


class IsolatedRefreshOperator(RefreshOperator):
    """Load the tables that the channel file isolates (`-inow`), while other runs work on the channel.

    XCom: tables (rows by table).
    """

    runs = REFRESH_ISOLATED

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(options="-inow", **kwargs)

    def _do_here(self, channel: Channel, run_id: str) -> bool:
        return DdlReplSparkOperator._do_here(self, channel, run_id)
