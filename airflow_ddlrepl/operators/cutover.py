"""These operators say what is missing for a cut-over, and switch applications over to the targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow.sdk import Context

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.errors import CannotCutOver
from airflow_ddlrepl.flow.stages import CHECK_CUT_OVER, CUT_OVER
from airflow_ddlrepl.operators.base import DdlReplSparkOperator
from airflow_ddlrepl.operators.messages.markdown import code, dag_id, link, plain, table
from airflow_ddlrepl.visible import one_line

MOST_NAMED = 20
"""An error names this many objects; the log and the XCom have all of them."""


class CheckCutOverOperator(DdlReplSparkOperator):
    """Say what is missing for a cut-over, as `ddlrepl cutover` does; fail with CUT-102 when something is.

    XCom: as `ddlrepl cutover --json` prints it; under the key `text` the same as Markdown for a person.

    :param accept: codes of conditions that need not be met, one per line. (templated)
    :param compare: `true`: compare all tables, too. (templated)
    """

    runs = CHECK_CUT_OVER

    template_fields: Sequence[str] = (*DdlReplSparkOperator.template_fields, "accept", "compare")

    def __init__(self, *, accept: str = "", compare: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.accept, self.compare = accept, compare

    @property
    def accepted(self) -> list[str]:
        """Return the codes that need not be met."""
        return self.accept.split()

    def _run(self, channel: Channel, context: Context) -> dict[str, Any]:
        found = super()._run(channel, context)
        text = cutover_text(channel.name, found, self.accepted, str(context["run_id"]))
        context["ti"].xcom_push(key="text", value=text)
        for one in found["conditions"]:
            for line in (*one["found"], f"hint: {one['hint']}") if not one["is_met"] else ():
                self.log.info("%s %s: %s", one["code"], one["what"], one_line(line))
        if missing := [one for one in found["conditions"] if self._is_missing(one)]:
            raise _not_ready(channel, missing)
        return found

    def _is_missing(self, condition: Mapping[str, Any]) -> bool:
        is_seen_to = condition["is_met"] or condition["is_done_by_cut_over"]
        return not is_seen_to and condition["code"] not in self.accepted


class CutOverOperator(CheckCutOverOperator):
    """Bring the targets to the end of the source's log and stop the channel, as `ddlrepl cutover --do` does.

    XCom: channel, position, since, targets, accepted.

    :param accept: codes of conditions that need not be met, one per line. (templated)
    :param compare: `true`: compare all tables after the last cycle. (templated)
    """

    runs = CUT_OVER

    def _run(self, channel: Channel, context: Context) -> dict[str, Any]:
        return DdlReplSparkOperator._run(self, channel, context)


def _not_ready(channel: Channel, missing: Sequence[Mapping[str, Any]]) -> CannotCutOver:
    named = [f"{one['code']} {one['what']}: {found}" for one in missing for found in one["found"]]
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    return CannotCutOver(
        f"channel {channel.name} is not ready to cut over: {'; '.join(named[:MOST_NAMED])}{more}",
        code="CUT-102",
        hint="the log of this task says what to do about each; `accept` goes on although something is missing",
    )


MOST_CONDITIONS = 100


def cutover_text(channel: str, found: Mapping[str, Any], accepted: Sequence[str], run_id: str) -> str:
    """Return the text about a cut-over. found: as CutOverCheck.to_json returns it."""
    rows = [
        (code(one["code"]), code(one["target"] or "source"), plain(one["what"]), code("; ".join(one["found"])[:500]))
        for one in found["conditions"]
        if not one["is_met"]
    ]
    log = link("log of the task check", "dags", dag_id(channel, "cutover"), "runs", run_id, "tasks", "check")
    parts = [
        "### What will be lost",
        "Nothing. After the cut-over no run of the channel writes at a target, and what is written at the source does"
        " not get there.",
        "### What will be done",
        "A last cycle, while nobody writes at the source; then the channel stops. `ddlrepl cutover FILE --undo` lets it"
        " go on.",
        "### What is not as it should be",
        table(("Code", "At", "What", "Found"), rows[:MOST_CONDITIONS]) if rows else "Nothing.",
        f"Accepted: {', '.join(map(code, accepted)) or 'nothing'}.",
        "### What to look at",
        f"The {log}. Stop the applications before you approve.",
    ]
    return "\n\n".join(parts) + "\n"
