"""What becomes of a statement at a target: what happened + profile + settings + policies → decision.

Pure, and without a DBMS. What a change of shape needs is decided by the planner itself (`adapt/plan/plan.py`); a
profile says what its database shows of a statement, and where its log can't go on without a refresh.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from airflow_ddlrepl.adapt.plan.change_at_target import ChangeAtTarget
from airflow_ddlrepl.adapt.plan.plan import plan, target_shape
from airflow_ddlrepl.adapt.plan.responses import respond
from airflow_ddlrepl.adapt.plan.verdicts import Verdict
from airflow_ddlrepl.adapt.plan_model import Step, StepKind, TablePlan
from airflow_ddlrepl.adapt.policy import Policy
from airflow_ddlrepl.adapt.target_facts import TargetFacts, TargetServer
from airflow_ddlrepl.config.sections.policies import OnAddColumnWithDefault
from airflow_ddlrepl.ddl.diff import diff
from airflow_ddlrepl.engines.postgres.types.type_system import POSTGRES_TYPES
from airflow_ddlrepl.hvr.ddl_table import ROWS, Ddl, Outcome
from airflow_ddlrepl.hvr.profile import HVR_VERSION, Effect, Profile
from airflow_ddlrepl.hvr.version import SINCE
from airflow_ddlrepl.model.table import Table
from docs.tools.hvr.occurrence import Occurrence
from docs.tools.hvr.outline import OUTLINE


@dataclass(frozen=True, slots=True)
class Decision:
    """outcome, why, and the policy that decided, e.g. "on_enroll_break=REFRESH"; empty: none had a say.

    warnings: what a person is told. is_late: noticed at a later event only, before the first row in the new layout.
    then: the second half of what is handled as two statements.
    """

    outcome: Outcome
    why: str = ""
    policy: str = ""
    warnings: tuple[str, ...] = ()
    is_late: bool = False
    then: Decision | None = None


_ENDS = {
    Effect.REFUSED: Outcome.REFUSED,
    Effect.UNSUPPORTED: Outcome.UNSUPPORTED,
    Effect.IMPOSSIBLE: Outcome.IMPOSSIBLE,
    Effect.UNSEEN: Outcome.UNSEEN,
}
_DOES = {Effect.ENROLL: Outcome.ENROLLED, Effect.ALTER: Outcome.ALTERED, Effect.APPLY: Outcome.APPLIED}
_HOW = (Effect.REFRESH, Effect.CONTINUE)
_REDEFINED = (Ddl.REDEFINE_STORAGE, Ddl.REDEFINE_THEN_ALTER, Ddl.REDEFINE_COLUMNS)
_COLUMNS = (Ddl.ADD_COLUMN, Ddl.ADD_COLUMN_DEFAULT, Ddl.DROP_COLUMN)
_UNREADABLE = "AdaptDDL can't do without a refresh"
UNKNOWN = "there is no such statement"
ENCRYPTED = "encrypted columns can't be read any more: the channel needs an upgrade and the table a refresh"
TRUSTED = "HVR takes a redefinition for one of storage only"


def decide(
    what: Occurrence,
    profile: Profile,
    policy: Policy = Policy(),  # noqa: B008
    settings: Mapping[str, str] | None = None,
) -> Decision:
    """For one table at one target. settings: how the source is captured; what is not said is the profile's default.

    Raises ConfigError CFG-140 for settings that the database does not have.
    """
    known = {**profile.with_defaults(settings or {}), **what.facts}
    if not all(profile.knows(row) for row in what.rows):
        return Decision(Outcome.REFUSED, f"{profile.title}: {UNKNOWN}")
    if not policy.adapts:
        return _not_adapting(what, profile, policy, known)
    notes = (profile.refusal(known), *(profile.note(row, known, _ENDS) for row in what.rows))
    for note in notes:
        if note is not None:
            return Decision(_ENDS[note.effect], note.text, is_late=_is_late(what, profile, known))
    policy, told = _told(what, profile, policy, known)
    made = _adapting(what, profile, policy, known)
    return replace(made, warnings=(*told, *made.warnings), is_late=_is_late(what, profile, known))


def _is_late(what: Occurrence, profile: Profile, known: Mapping[str, str]) -> bool:
    return any(profile.note(row, known, (Effect.LATE,)) for row in what.rows)


_WEIGHT = (Outcome.IGNORED, Outcome.APPLIED, Outcome.ENROLLED, Outcome.WARNED, Outcome.REFUSED)


def _not_adapting(what: Occurrence, profile: Profile, policy: Policy, known: Mapping[str, str]) -> Decision:
    """Without AdaptDDL: what the log carries as data is applied all the same."""
    if profile.is_ours and what.told is None:
        return _planned(what, profile, policy, known)
    for row in what.rows:
        if (note := profile.note(row, known, (Effect.APPLY,))) is not None:
            return Decision(Outcome.APPLIED, note.text)
    return _without(what)


def _without(what: Occurrence) -> Decision:
    """The target is left as it is."""
    told = what.told
    rows = what.spotted if told is Ddl.REDEFINE_COLUMNS else what.rows
    outcome = max((ROWS[row].without for row in rows), key=_WEIGHT.index, default=Outcome.IGNORED)
    if told is Ddl.CHANGE_ENCRYPTION:
        return Decision(outcome, ENCRYPTED, warnings=(ENCRYPTED,))
    if told is Ddl.REDEFINE_THEN_ALTER:
        return Decision(outcome, then=_without(Occurrence(what.before, what.same)))
    return Decision(outcome)


def _told(
    what: Occurrence, profile: Profile, policy: Policy, known: Mapping[str, str]
) -> tuple[Policy, tuple[str, ...]]:
    """A database that does not tell of defaults leaves HVR's on_add_column_with_default nothing to rule over.

    Neither does a version of HVR that does not have the policy yet.
    """
    empty = OnAddColumnWithDefault.ADD_COLUMN_WITH_EMPTY_DEFAULT
    said = policy.on_add_column_with_default
    name = "on_add_column_with_default"
    if not policy.is_hvr or said is empty or Ddl.ADD_COLUMN_DEFAULT not in what.rows:
        return policy, ()
    if profile.lacks(name, known):
        why = f"HVR {known[HVR_VERSION]} has no {name}, it came with {SINCE[name]}: {name}={said} does nothing"
        return replace(policy, on_add_column_with_default=empty), (why,)
    if profile.shows_defaults:
        return policy, ()
    why = f"{profile.title} does not tell of a new column's default: on_add_column_with_default={said} does nothing"
    return replace(policy, on_add_column_with_default=empty), (why,)


def _adapting(what: Occurrence, profile: Profile, policy: Policy, known: Mapping[str, str]) -> Decision:
    told = what.told
    if what.before is None and not what.joins:
        return Decision(Outcome.IGNORED, "the table does not belong to the channel", "add_table_pattern")
    made = Occurrence(None, what.after, evidence=what.evidence, joins=what.joins)
    if told is Ddl.CREATE_THEN_DROP_TABLE:
        return _twice(made, Occurrence(what.after, None), profile, policy, known)
    if told is Ddl.DROP_THEN_CREATE_TABLE if profile.has_identity else Ddl.RENAME_TABLE in what.rows:
        return _twice(Occurrence(what.before, None), made, profile, policy, known)
    if policy.is_hvr and told in (Ddl.REDEFINE_STORAGE, Ddl.REDEFINE_THEN_ALTER):
        return Decision(Outcome.ENROLLED, TRUSTED)
    if told is None or told in _REDEFINED:
        return _planned(what, profile, policy, known)
    return _named(told, profile, policy, known)


def _twice(
    first: Occurrence, second: Occurrence, profile: Profile, policy: Policy, known: Mapping[str, str]
) -> Decision:
    """Two statements, each handled on its own."""
    made = _adapting(first, profile, policy, known)
    return replace(made, then=_adapting(second, profile, policy, known))


def _named(statement: Ddl, profile: Profile, policy: Policy, known: Mapping[str, str]) -> Decision:
    """What no shape tells of."""
    note = profile.note(statement, known, (*_HOW, *_DOES))
    row = ROWS[statement]
    if note is None and row.adapting is not Outcome.REFRESHED:
        return Decision(row.adapting)
    if note is not None and note.effect is not Effect.REFRESH:
        return Decision(_DOES.get(note.effect, row.adapting), note.text)
    why = note.text if note else f"{row.sql}: the log does not carry the rows"
    return _read(tuple(respond(Verdict(True, why), policy)), Outcome.REFRESHED, Outcome.WARNED)


def _planned(what: Occurrence, profile: Profile, policy: Policy, known: Mapping[str, str]) -> Decision:
    """What the planner makes of the shapes."""
    needs = {} if profile.adapts_without_refresh else dict.fromkeys(_COLUMNS, f"{profile.title}: {_UNREADABLE}")
    notes = {row: note for row in what.spotted if (note := profile.note(row, known, _HOW)) is not None}
    needs |= {row: note.text for row, note in notes.items() if note.effect is Effect.REFRESH}
    evidence = what.evidence
    if evidence.filled is None and Ddl.CREATE_TABLE in notes:
        evidence = replace(evidence, filled=Ddl.CREATE_TABLE in needs)
    before = what.before
    change = ChangeAtTarget(before, what.same, OUTLINE, _FACTS, evidence, policy, needs=needs)
    return read_plan(plan(change), before)


_FACTS = TargetFacts(TargetServer(POSTGRES_TYPES))


def read_plan(made: TablePlan, before: Table | None) -> Decision:
    """A plan in one word. before: the target's table until then."""
    if before is None:
        return _read(made.steps, Outcome.REFRESHED, Outcome.CREATED)
    if made.is_removed:
        return _read(made.steps, Outcome.REFRESHED, Outcome.DROPPED)
    if made.is_orphaned:
        left = Outcome.WARNED if any(s.kind is StepKind.WARN for s in made.steps) else Outcome.LEFT
        return _read(made.steps, Outcome.REFRESHED, left)
    still = Outcome.WARNED if made.steps else Outcome.ENROLLED if made.changes else Outcome.IGNORED
    if not diff(target_shape(before, facts=_FACTS), made.shape, POSTGRES_TYPES):
        return _read(made.steps, Outcome.REFRESHED, still)
    carried = Outcome.ALTERED if made.sql else still
    return _read(made.steps, Outcome.ALTERED_AND_REFRESHED, carried)


def _read(steps: tuple[Step, ...], refreshed: Outcome, otherwise: Outcome) -> Decision:
    kinds = {StepKind.REFUSE: Outcome.REFUSED, StepKind.CONTROL: Outcome.STOPPED, StepKind.REFRESH: refreshed}
    warnings = tuple(s.why for s in steps if s.kind is StepKind.WARN)
    for kind, outcome in kinds.items():
        for step in steps:
            if step.kind is kind:
                return Decision(outcome, step.why, step.policy, warnings)
    said = next((s for s in steps if s.policy), steps[0] if steps else None)
    return Decision(otherwise, said.why if said else "", said.policy if said else "", warnings)
