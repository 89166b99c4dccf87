"""These operators explain controls to a person, and remove those that the person approved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow.sdk import BaseOperator, Context

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import ConfigError, DdlReplError
from airflow_ddlrepl.hooks.connections import connections_file
from airflow_ddlrepl.operators.links import ChannelStatusLink, DdlHistoryLink
from airflow_ddlrepl.operators.messages.approvals import controls_text
from airflow_ddlrepl.operators.messages.failure import failed


class ExplainControlsOperator(BaseOperator):
    """Show where the channel's targets wait for a person, and why; fail when none does.

    XCom: the controls (id, target, at, reason, policy, changes, …); under the key `text` the same as Markdown for a
    person.

    :param channel: path of the channel file. (templated)
    :param control: id of one control; empty: all that hold. (templated)
    """

    template_fields: Sequence[str] = ("channel", "control")
    ui_color = "#d6eaf2"
    operator_extra_links = (ChannelStatusLink(), DdlHistoryLink())

    def __init__(self, *, channel: str, control: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.channel, self.control = channel, control

    def execute(self, context: Context) -> list[dict[str, Any]]:
        """Return the controls; a task that fails has the reason in its log and its XCom."""
        from airflow_ddlrepl import flow

        try:
            channel = load_channel(self.channel)
            with connections_file(channel):
                found = flow.held_controls(channel, number(self.control))
        except DdlReplError as error:
            raise failed("explanation of the controls", error, context) from None
        text = "\n\n".join(one.text() for one in found)
        self.log.info("%s", text)
        context["ti"].xcom_push(key="text", value=controls_text(channel.name, found))
        return [one.to_json() for one in found]


class RemoveControlsOperator(BaseOperator):
    """Remove the controls that a person was shown; one that came later stays.

    XCom: removed (ids).

    :param channel: path of the channel file. (templated)
    :param controls: what ExplainControlsOperator returned. (templated)
    :param approval: what the approval returned, which says who approved; None: nobody knows. (templated)
    """

    template_fields: Sequence[str] = ("channel", "controls", "approval")
    ui_color = "#d6eaf2"
    operator_extra_links = (ChannelStatusLink(), DdlHistoryLink())

    def __init__(
        self,
        *,
        channel: str,
        controls: Sequence[Mapping[str, Any]],
        approval: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.channel, self.controls, self.approval = channel, controls, approval

    def execute(self, context: Context) -> dict[str, Any]:
        """Remove the controls and return their ids."""
        from airflow_ddlrepl import flow

        try:
            channel = load_channel(self.channel)
            with connections_file(channel):
                rows = flow.remove_seen(channel, self.controls, approved_by(self.approval))
        except DdlReplError as error:
            raise failed("removal of the controls", error, context) from None
        for row in rows:
            self.log.info(
                "control %s is removed by %s: %s goes on", row.id, row.removed_by or "nobody known", row.target
            )
        return {"removed": [row.id for row in rows]}


def approved_by(approval: Mapping[str, Any] | None) -> str:
    """Return the name of Airflow's user who has approved; empty: nobody knows, as where a task was marked as done."""
    user = (approval or {}).get("responded_by_user") or {}
    return str(user.get("name") or user.get("id") or "")


def number(text: str) -> int | None:
    """Parse a control's number; an empty text is None. Raises ConfigError CTL-102 when it is no number."""
    if not text.strip():
        return None
    if not text.strip().isdecimal():
        raise ConfigError(f"{text!r} is no control's number", code="CTL-102", hint="ddlrepl controls lists them")
    return int(text)
