"""A statement about no table of the channel, such as CREATE VIEW or COMMENT, runs as Replicat has mapped it.

Pure. What gives the target code of the source's, or rights, is left out unless the file names its kind.
"""

from __future__ import annotations

from collections.abc import Collection

from airflow_ddlrepl.adapt.plan.ddl_replay import BY_REPLICAT, Statement, text_alone
from airflow_ddlrepl.adapt.plan_model import Omission, Step, StepKind, TablePlan
from airflow_ddlrepl.adapt.target_facts import About, Renderer
from airflow_ddlrepl.ddl.sql.replayable import why_unsafe
from airflow_ddlrepl.ddl.sql.statement_code import Code, carried
from airflow_ddlrepl.model.change import Event
from airflow_ddlrepl.model.names import TableName

HINT = (
    "everything before it is applied. Mend the target and run again; or leave such statements out by a clause of `ddl`,"
    " or by a rule of DDLERROR (`errors` of replicat)"
)


def run_without_table(name: TableName, of: Statement, allowed: Collection[Code], render: Renderer) -> TablePlan:
    """Return the plan that runs the statement, leaves it out with a warning, or refuses it.

    name: of the object, for people. allowed: the kinds of code that the target may get.
    """
    return TablePlan(name, name, (), (), (_step(of, allowed, render),), (), None, is_text_alone=True)


def _step(of: Statement, allowed: Collection[Code], render: Renderer) -> Step:
    event = of.event
    if event.discarded:
        return _left_out(event, event.discarded)
    if of.refusal is not None:
        return _refused("ADP-153", of.refusal.why)
    if event.statement is None:
        return _refused(
            "ADP-150", f"the text of this {event.tag} is not known: it has a password, or ran in a function"
        )
    if why := why_unsafe(of.text):
        return _refused("ADP-151", f"`{_line(of)}` can't be replayed: {why}")
    if why := _why_not(of.text, allowed):
        return _left_out(event, why)
    schemas = of.mapped.schemas if of.mapped is not None else ()
    return text_alone(of, f"{event.tag} as Replicat has mapped it", About(schemas=schemas), render)


def _why_not(text: str, allowed: Collection[Code]) -> str:
    """Return why the target does not get what a statement carries; empty: it carries nothing, or the file names it."""
    found = carried(text)
    missing = sorted(found.kinds - set(allowed))
    if found.never:
        return f"the target does not run it: {found.never}"
    if missing:
        return f"it carries code or rights: `code: [{', '.join(missing)}]` of replicat lets it run"
    return ""


def _left_out(event: Event, why: str) -> Step:
    return Step(StepKind.WARN, f"{event.tag}: {why}", policy=why, omits=Omission.CHANGE)


def _refused(code: str, why: str) -> Step:
    return Step(StepKind.REFUSE, why, policy=BY_REPLICAT, code=code, hint=HINT)


def _line(of: Statement) -> str:
    return " ".join(of.text.split()).rstrip("; ")
