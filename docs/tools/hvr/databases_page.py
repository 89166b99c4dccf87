"""Write docs/databases.md from the profiles.

python -m docs.tools.hvr.databases_page > docs/databases.md
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from airflow_ddlrepl.adapt.policy import Policy, policy_for
from airflow_ddlrepl.config.sections.adapt_actions import AdaptAction
from airflow_ddlrepl.config.sections.policies import Defaults
from airflow_ddlrepl.hvr.ddl_table import ROWS, Ddl
from airflow_ddlrepl.hvr.profile import Note, Profile, profiles
from airflow_ddlrepl.model.names import TableName
from docs.tools.hvr.decision import Decision, decide
from docs.tools.hvr.occurrence import example

INTRODUCTION = """\
# Schema changes by database

The product replicates from PostgreSQL, versions 15 to 18: the column **PostgreSQL**. The other columns describe what
HVR's AdaptDDL does when such a database is the source, for readers who know HVR. A location of such a type is refused:
CFG-104.

The table says what happens at a target after a statement, with the first value of every setting and without policies:
with `defaults: own` for PostgreSQL, with `defaults: hvr` and an action on both sides for the others. *Without* is what
happens without AdaptDDL; a database in brackets differs. [hvr.md](hvr.md) has the policies.

- **altered**: the target's table gets the new layout. **refreshed**: its rows are loaded again; `on_enroll_break` can
  change that, except for a new table.
- **enrolled**: the new layout is recorded, so that rows can be read; nothing happens at the target.
- **leaves the channel**: as `on_drop_table` says. **applied as data**: it is applied in order, between the rows.
- **+**: two statements, each handled separately. **(later)**: detected only at a later event, before the first row in
  the new layout. **–**: the database has no such statement.
- CREATE SEQUENCE is **ignored** without `db_sequence`, as without HVR's DbSequence ([sequences.md](sequences.md)).

Below the table are the settings of each database and notes, each with its source: a line of HVR's page on AdaptDDL
(002:…, as in the table), or another page. The decisions are made by the planner's own rules
(`docs/tools/hvr/decision.py`) from the policies of a channel and from what a database shows of its DDL
(`airflow_ddlrepl/hvr/profiles/`).
"""


def markdown() -> str:
    """The whole page."""
    return "\n".join([INTRODUCTION, *_table(), "", *(line for p in profiles().values() for line in _section(p))])


def _table() -> Iterator[str]:
    yield f"| Statement | Line | Without | {' | '.join(profile.title for profile in profiles().values())} |"
    yield "|---|---|---|" + "---|" * len(profiles())
    for statement in Ddl:
        cells = " | ".join(_cell(statement, profile) for profile in profiles().values())
        row = ROWS[statement]
        yield f"| {row.sql} | {row.source} | {_without(statement)} | {cells} |"


def _cell(statement: Ddl, profile: Profile) -> str:
    if not profile.knows(statement):
        return "–"
    decision = decide(example(statement), profile, Policy() if profile.is_ours else hvr_policy())
    return _said(decision) + (" (later)" if decision.is_late else "")


def _without(statement: Ddl) -> str:
    """The outcome without AdaptDDL, and those of databases whose log carries the change as data."""
    without, what = replace(hvr_policy(), adapts=False), example(statement)
    plain = ROWS[statement].without
    outcomes = {
        p.title: decide(what, p, without).outcome for p in profiles().values() if p.knows(statement) and what.told
    }
    return plain + "".join(f" ({title}: {said})" for title, said in outcomes.items() if said != plain)


def _said(decision: Decision) -> str:
    return decision.outcome if decision.then is None else f"{decision.outcome} + {_said(decision.then)}"


def hvr_policy(**parameters: object) -> Policy:
    """HVR's defaults with an action on both sides that says this."""
    action = AdaptAction.model_validate(parameters)
    return policy_for(TableName("", ""), (action,), (action,), Defaults.HVR)


def _section(profile: Profile) -> Iterator[str]:
    yield f"## {profile.title}\n"
    for name, values in profile.settings.items():
        yield f"- `{name}`: {', '.join(values)}"
    need = "no refresh" if profile.adapts_without_refresh else "a refresh"
    yield f"- a column that is added or dropped needs {need} ({profile.refresh_source})"
    for note in profile.notes:
        yield f"- {_about(note)}: {note.text} ({note.source})"
    if not profile.shows_defaults:
        yield f"- `on_add_column_with_default` does nothing ({profile.defaults_source})"
    yield ""


def _about(note: Note) -> str:
    about = "everything" if note.statements == "all" else "; ".join(ROWS[s].sql for s in note.statements)
    when = ", ".join(f"`{key}: {value}`" for key, value in note.when.items())
    return f"{about} with {when}" if when else about


if __name__ == "__main__":
    print(markdown().rstrip())
