"""These operators plan a rewind for a person, and carry it out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar

from airflow.sdk import BaseOperator, Context

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.arguments import lines_of
from airflow_ddlrepl.flow.stages import REWIND
from airflow_ddlrepl.hooks.connections import connections_file
from airflow_ddlrepl.notation.moment import parse_until
from airflow_ddlrepl.operators.base import DdlReplSparkOperator
from airflow_ddlrepl.operators.links import ChannelStatusLink, DdlHistoryLink
from airflow_ddlrepl.operators.messages.approvals import rewind_text
from airflow_ddlrepl.operators.messages.failure import failed
from airflow_ddlrepl.ports.work import InProcess


class PlanRewindOperator(BaseOperator):
    """Show what a rewind would do, change nothing, and fail when it is not possible.

    XCom: the plan; under the key `text` the same as Markdown for a person.

    :param channel: path of the channel file. (templated)
    :param to: ISO 8601 moment with its offset, or a position of the source's log. (templated)
    :param into: one of the channel's `replays`; or a target, which goes back and forward again. (templated)
    :param tables: patterns `schema.table`, one per line; none is all of the channel. (templated)
    """

    template_fields: Sequence[str] = ("channel", "to", "into", "tables")
    ui_color = "#d6eaf2"
    operator_extra_links = (ChannelStatusLink(), DdlHistoryLink())

    def __init__(self, *, channel: str, to: str, into: str, tables: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.channel, self.to, self.into, self.tables = channel, to, into, tables

    def execute(self, context: Context) -> dict[str, Any]:
        """Return the plan; a task that fails has the reason in its log and its XCom."""
        from airflow_ddlrepl import flow

        try:
            channel = load_channel(self.channel)
            with connections_file(channel), flow.RunContext(channel, InProcess(), str(context["run_id"])) as run:
                plan = flow.plan_rewind(run, parse_until(self.to, run.positions), self.into, lines_of(self.tables))
        except DdlReplError as error:
            raise failed("plan of the rewind", error, context) from None
        self.log.info("%s", plan.text())
        context["ti"].xcom_push(key="text", value=rewind_text(channel.name, plan.to_json(), str(context["run_id"])))
        if (reason := plan.refusal()) is not None:
            raise failed("plan of the rewind", reason, context)
        return dict(json.loads(json.dumps(plan.to_json(), default=str)))


class RewindOperator(DdlReplSparkOperator):
    """Build the tables of a channel as of an earlier moment in a replay, or let a target go back and forward again.

    XCom: target, low, high (positions), loaded and rows (by table and kind), changes, tables, placed (rows by table).

    :param to: ISO 8601 moment with its offset, or a position of the source's log. (templated)
    :param into: one of the channel's `replays`; or a target, which goes back and forward again. (templated)
    :param tables: patterns `schema.table`, one per line; none is all of the channel. (templated)
    """

    runs = REWIND

    template_fields: Sequence[str] = (*DdlReplSparkOperator.template_fields, "to", "into", "tables")

    onward: ClassVar[bool] = False

    def __init__(self, *, to: str, into: str, tables: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.to, self.into, self.tables = to, into, tables
