"""This operator shows what the next cycle would do to the targets' tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from airflow.sdk import BaseOperator, Context

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.hooks.connections import connections_file
from airflow_ddlrepl.operators.links import ChannelStatusLink, DdlHistoryLink
from airflow_ddlrepl.operators.messages.approvals import plan_text
from airflow_ddlrepl.operators.messages.failure import failed
from airflow_ddlrepl.ports.work import InProcess


class PlanOperator(BaseOperator):
    """Show what the next cycle would do to the targets' tables, as `ddlrepl plan` does; change nothing.

    XCom: from, to, targets (the plans of each), missing, suspended (the tables of each target with the reason), changes
    (how many plans); under the key `text` the same as Markdown for
    a person.

    :param channel: path of the channel file. (templated)
    """

    template_fields: Sequence[str] = ("channel",)
    ui_color = "#d6eaf2"
    operator_extra_links = (ChannelStatusLink(), DdlHistoryLink())

    def __init__(self, *, channel: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.channel = channel

    def execute(self, context: Context) -> dict[str, Any]:
        """Return the plan; a task that fails has the reason in its log and its XCom."""
        from airflow_ddlrepl import flow

        run_id = str(context["run_id"])
        try:
            channel = load_channel(self.channel)
            with connections_file(channel), flow.RunContext(channel, InProcess(), run_id) as run:
                found = flow.plan(run)
        except DdlReplError as error:
            raise failed("plan", error, context) from None
        self.log.info("%s", found.text())
        plan = dict(json.loads(json.dumps(found.to_json(), default=str)))
        context["ti"].xcom_push(key="text", value=plan_text(channel.name, plan, run_id))
        return {**plan, "changes": sum(len(plans) for plans in plan["targets"].values())}
