"""These operators compare the tables of source and targets, and write the rows that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow.sdk import Context

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.errors import ConfigError, DdlReplError
from airflow_ddlrepl.flow.stages import COMPARE, REPAIR
from airflow_ddlrepl.operators.base import DdlReplSparkOperator
from airflow_ddlrepl.operators.messages.approvals import MOST_TABLES, differences_text

MOST_LINES = 200
"""Differences that an XCom names; the log has all that the comparison names."""


class CompareOperator(DdlReplSparkOperator):
    """Compare the tables of source and targets, columns and rows; fail with CMP-101 when they are not equal.

    Rows that the targets do not have yet are no differences: `in_flight` counts them. XCom: differences, found (by
    name), position (for which it holds), in_flight, undecided, rows, tables (those that differ), compared (how many),
    left_out; under the key `text` the same as Markdown for a person.

    :param tables: patterns `schema.table`, one per line; none is all of the channel. (templated)
    :param on_difference: `fail`; or `go_on` where a repair can do something about it. (templated)
    """

    runs = COMPARE

    template_fields: Sequence[str] = (*DdlReplSparkOperator.template_fields, "tables", "on_difference")

    def __init__(self, *, tables: str = "", on_difference: str = "fail", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tables, self.on_difference = tables, on_difference

    def _run(self, channel: Channel, context: Context) -> dict[str, Any]:
        if self.on_difference not in ("fail", "go_on"):
            raise ConfigError(f"on_difference is {self.on_difference!r}", code="CFG-138", hint="it is fail or go_on")
        found = super()._run(channel, context)
        if "differences" not in found:
            raise DdlReplError(
                f"the comparison of channel {channel.name} has left no result that this worker can read",
                code="CMP-102",
                hint="set `[ddlrepl] result_dir` to a folder that the Spark driver and this worker share",
            )
        context["ti"].xcom_push(key="text", value=differences_text(channel.name, found, str(context["run_id"])))
        goes_on = self.on_difference == "go_on" and any(
            one["differences"] and not one["waits"] for one in found["tables"]
        )
        is_unequal = found["differences"] or found["left_out"] or found.get("discarded") or found.get("undecided")
        if is_unequal and not goes_on:
            raise _unequal(channel, found)
        return _brief(found)


class RepairOperator(CompareOperator):
    """Write the rows that differ at the targets, then compare again; fail with CMP-101 when they are not equal.

    XCom: as of CompareOperator, of the second comparison; repaired (tables).

    :param tables: patterns `schema.table`, one per line; none is all of the channel. (templated)
    """

    runs = REPAIR


def _unequal(channel: Channel, found: Mapping[str, Any]) -> DdlReplError:
    named = [*found["found"], *(f"{table} was not compared: {why}" for table, why in found["left_out"].items())]
    named += [f"{table}: can't tell which rows differ: {why}" for table, why in found.get("undecided", {}).items()]
    more = f" and {len(named) - 10} lines more" if len(named) > 10 else ""
    return DdlReplError(
        f"channel {channel.name}: {found['differences']} differences between source and targets,"
        f" {found.get('discarded', 0)} rows that targets discard, and"
        f" {len(found['left_out']) + len(found.get('undecided', {}))} tables that were not compared, or of which nobody"
        f" can tell: {'; '.join(named[:10])}{more}",
        code="CMP-101",
        hint="rows that are not replicated yet do not count: `ddlrepl compare FILE --repair`, or this DAG with"
        " `repair`, writes what differs",
    )


def _brief(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result without the tables that are equal."""
    unlike = [table for table in found["tables"] if table["differences"] or table.get("discarded")]
    lines, waiting = found["found"][:MOST_LINES], found.get("waiting", [])[:MOST_LINES]
    few = {"compared": len(found["tables"]), "tables": unlike[:MOST_TABLES], "found": lines, "waiting": waiting}
    return {**found, **few}
