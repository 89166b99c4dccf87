"""A verdict says whether an ALTER carries a change or the table's rows must be reloaded. One row per kind of change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from airflow_ddlrepl.adapt.ddl_rows import has_default, row_of
from airflow_ddlrepl.adapt.plan.settings import SettingsChange
from airflow_ddlrepl.adapt.policy import Policy
from airflow_ddlrepl.adapt.target_facts import TargetFacts
from airflow_ddlrepl.config.sections.policies import OnAddColumnWithDefault
from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.columns.add_column import AddColumn
from airflow_ddlrepl.ddl.columns.change_default import ChangeDefault
from airflow_ddlrepl.ddl.columns.change_generated import ChangeGenerated
from airflow_ddlrepl.ddl.columns.change_identity import ChangeIdentity
from airflow_ddlrepl.ddl.columns.change_nullability import ChangeNullability
from airflow_ddlrepl.ddl.columns.change_type import ChangeType, Extent
from airflow_ddlrepl.ddl.columns.drop_column import DropColumn
from airflow_ddlrepl.ddl.columns.rename_column import RenameColumn
from airflow_ddlrepl.ddl.diff import diff
from airflow_ddlrepl.ddl.opaque import Opaque
from airflow_ddlrepl.ddl.sql.conversion import Conversion
from airflow_ddlrepl.ddl.sql.statement import Evidence
from airflow_ddlrepl.ddl.tables.attach_partition import AttachPartition
from airflow_ddlrepl.ddl.tables.change_key import ChangeKey
from airflow_ddlrepl.ddl.tables.change_logging import ChangeLogging
from airflow_ddlrepl.ddl.tables.change_partition_key import ChangePartitionKey
from airflow_ddlrepl.ddl.tables.change_replica_identity import ChangeReplicaIdentity
from airflow_ddlrepl.ddl.tables.detach_partition import DetachPartition
from airflow_ddlrepl.ddl.tables.rename_table import RenameTable
from airflow_ddlrepl.ddl.types.change_type_definition import ChangeTypeDefinition, ReplaceType
from airflow_ddlrepl.ddl.types.create_type import CreateType, ForgetType
from airflow_ddlrepl.ddl.types.rename_type import RenameType
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.hvr.ddl_table import ROWS, Ddl, Outcome
from airflow_ddlrepl.model.change import EventKind
from airflow_ddlrepl.model.settings.table_settings import CoerceErrorPolicy
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import TypeKind
from airflow_ddlrepl.ports.types import Cast, TypeSystem


class By(StrEnum):
    """A policy of this name decides what a verdict leads to. NONE: none does, the rows are loaded again in any case."""

    ENROLL_BREAK = "on_enroll_break"
    ADD_COLUMN = "on_add_column_with_default"
    NONE = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict says what a change does to the rows at the target.

    reload: they would differ, because of `why`. code: the change is refused.
    """

    reload: bool = False
    why: str = ""
    by: By = By.ENROLL_BREAK
    code: str = ""
    hint: str = ""

    @property
    def is_carried(self) -> bool:
        """Is an ALTER enough, with nothing lost?"""
        return not self.reload and not self.code


@dataclass(frozen=True, slots=True)
class Case:
    """A case is all that a verdict is based on. source: the source's new shape; held: the new shape at the target.

    needs: statements after which the source's log can't go on without a refresh, and why (its profile says so).
    """

    source: Table
    held: Table
    evidence: Evidence
    policy: Policy
    facts: TargetFacts
    needs: Mapping[Ddl, str] = field(default_factory=dict)

    @property
    def is_in_tree(self) -> bool:
        """Is it a partitioned table or a partition? Both must come to the same verdict."""
        return self.held.is_partitioned or self.held.partition is not None


CARRIED = Verdict()


def verdicts_on(change: SchemaChange, case: Case) -> Iterator[Verdict]:
    """Yield the verdicts on one change. Raises Unsupported ADP-100 for a kind that has no row.

    There is a second one where the first answers for the column's default only, and a refresh is asked for in any case.
    """
    rule = JUDGE.get(type(change))
    if rule is None:
        raise Unsupported(f"it is not known what {change.kind} does to rows", code="ADP-100", table=case.source.name)
    verdict: Verdict = rule(change, case)
    yield verdict
    if verdict.is_carried or verdict.by is By.ADD_COLUMN:
        why = _policy_reason(change, case)
        if why and not (verdict.reload and case.policy.on_add_column_with_default in _LOADS):
            yield Verdict(True, why)


_LOADS = (OnAddColumnWithDefault.FILL, OnAddColumnWithDefault.REFRESH)


def _policy_reason(change: SchemaChange, case: Case) -> str:
    """Return why there is a refresh although an ALTER carries the change; empty: there is none."""
    row = row_of(change)
    if row is not None and row in case.needs:
        return case.needs[row]
    if not case.policy.is_hvr:
        return ""
    if isinstance(change, AddColumn | DropColumn) and case.source.key is None:
        return "HVR refreshes when all columns are the key and one comes or goes"
    if row is not None and ROWS[row].adapting is Outcome.ALTERED_AND_REFRESHED:
        return f"HVR refreshes after {ROWS[row].sql}"
    return ""


WAITS = Verdict(True, "the table waits for a refresh already", By.NONE)
"""The verdict of a table whose rows come by a refresh that was asked for before the change."""
JOINS = Verdict(True, "the table may hold rows from before it joined the channel", By.NONE)
LATE = Verdict(True, "the table holds rows from before the log carried them", By.NONE)


def judge_new(representable: Table, evidence: Evidence, *, keeps_rows: bool) -> Iterator[Verdict]:
    """Judge a table that is new to the target. keeps_rows: the rows of an existing table under its name stay."""
    if (evidence.filled is not False or keeps_rows) and not representable.is_partitioned:
        yield JOINS


def judge_late(case: Case) -> Iterator[Verdict]:
    """Judge a table of which the log lacks rows: those from before it was published."""
    if case.evidence.filled and not case.held.is_partitioned:
        yield LATE


def judge_columns(was: Table, existing: Table) -> Iterator[Verdict]:
    """Judge columns that the target did not follow before: no change has their values.

    was: the shape that the target would have before the change. existing: the shape that it has.
    """
    there = {column.id for column in existing.columns}
    names = ", ".join(c.name for c in was.columns if c.id not in there and not c.generated and not c.extra)
    if names and not was.is_partitioned:
        yield Verdict(True, f"the target's table lacks what the source's had before: {names}", By.NONE)


def judge_own_types(case: Case) -> Iterator[Verdict]:
    """Judge columns that the channel file gives another type: their values are read from the source again."""
    others = [name for name, how in case.evidence.conversions.items() if how is Conversion.FILE]
    if others and not case.held.is_partitioned:
        yield Verdict(True, f"columns have other types by the channel file (`types`): {', '.join(others)}", By.NONE)


def judge_settings(change: SettingsChange) -> Iterator[Verdict]:
    """Judge existing rows by the channel file's settings now: `restrict` gives other rows, `transform` other values."""
    if not change.has_rows or change.before is None:
        return
    before, now = change.reads_before, change.reads_now
    condition = change.now.rows.condition
    if change.before.rows.condition != condition:
        yield Verdict(True, f"other rows by `restrict`: {condition or 'all of them'}", By.NONE)
    elif condition and change.kind is EventKind.DDL and change.is_live and before.condition != now.condition:
        yield Verdict(True, f"`restrict` looks at a column that has changed: {condition}", By.NONE)
    was, be = change.before.columns, change.now.columns
    if was.soft_delete and not be.soft_delete:
        yield Verdict(True, "deleted rows stay no more (`soft_delete`)", By.NONE)
    if was.time_key != be.time_key:
        yield Verdict(True, f"{'a row' if be.time_key else 'no more a row'} per change (`time_key`)", By.NONE)
    if change.unfit and was.misfits != be.misfits and _are_others(was.misfits, be.misfits):
        yield Verdict(True, f"other values by `coerce_error_policy`: {be.misfits}", By.NONE)
    if change.rewritten:
        names = ", ".join(change.rewritten)
        yield Verdict(True, f"the server rewrote values of columns whose type is the target's own: {names}", By.NONE)
    if before.function == now.function:
        return
    if change.before.values == change.now.values:
        yield Verdict(True, "columns have changed that a function of `transform` looks at", By.NONE)
    else:
        name = now.function[0] if now.function else "no function any more"
        yield Verdict(True, f"other values by `transform`: {name}", By.NONE)


def _are_others(before: CoerceErrorPolicy, now: CoerceErrorPolicy) -> bool:
    """Has the target other values for those that do not fit than a policy gives them now?"""
    return before.replaces or (now.replaces and before is CoerceErrorPolicy.TRUNCATE)


def judge_unfit(settings: SettingsChange, existing: Table, wanted: Table) -> Iterator[Verdict]:
    """Judge values that do not fit, and were replaced, where their columns get other types: some fit now."""
    if settings.before is None or not settings.before.misfits.replaces:
        return
    types = {column.id: column.type for column in existing.columns if column.id in settings.unfit}
    names = ", ".join(c.name for c in wanted.columns if c.id in types and types[c.id] != c.type)
    if names:
        yield Verdict(True, f"values that did not fit before may do so now (coerce_error_policy): {names}", By.NONE)


REWRITTEN = Verdict(True, "the server rewrote the rows, with values that are not in the log")


def is_rewritten(case: Case, found: Collection[SchemaChange]) -> bool:
    """Did the server rewrite the rows with other values, which no change of shape and no row of the log shows?

    So does ALTER COLUMN … TYPE to the type it has, USING other values. Other changes may be in the same statement.
    Where its text is not known, one that computes a column explains it; where nobody saw it, any: the new file that an
    inspection finds may come from a TRUNCATE.
    """
    known = case.evidence
    if not known.rewritten or known.has_using is False:
        return False
    if not known.tag:
        return not found
    retyped = {change.name for change in found if isinstance(change, ChangeType)}
    if known.conversions:
        return any(how is Conversion.OTHER and name not in retyped for name, how in known.conversions.items())
    return not any(isinstance(change, ChangeGenerated) or _is_generated(change) for change in found)


def _is_generated(change: SchemaChange) -> bool:
    return isinstance(change, AddColumn) and bool(change.column.generated)


def _carried(change: SchemaChange, case: Case) -> Verdict:
    return CARRIED


def _add_column(change: AddColumn, case: Case) -> Verdict:
    column, held = case.source.column(change.column.id), change.column
    if case.held.is_partitioned or held.generated:
        return CARRIED
    if column.generated:
        return _computed_at_source(column.name)
    policy = case.policy.on_add_column_with_default
    if has_default(column) and policy is not OnAddColumnWithDefault.FILL:
        return Verdict(policy is not OnAddColumnWithDefault.ADD_COLUMN_WITH_EMPTY_DEFAULT, _OLD_ROWS, By.ADD_COLUMN)
    if column.missing is not None or (case.evidence.rewritten is False and not case.is_in_tree):
        return CARRIED
    lost = case.evidence.rewritten and case.evidence.may_drop_default
    if column.default is None and not column.identity and not _has_domain_default(column, case.source) and not lost:
        return CARRIED
    by = By.ADD_COLUMN if policy is OnAddColumnWithDefault.FILL else By.ENROLL_BREAK
    return Verdict(True, f"column {column.name}: {_OLD_ROWS}", by)


_OLD_ROWS = "the existing rows got a value that is not in the log"


def _has_domain_default(column: Column, table: Table) -> bool:
    if column.type.kind is not TypeKind.DOMAIN:
        return False
    of = (column.type.schema, column.type.name)
    return any(t.default is not None for t in table.types if (t.schema, t.name) == of)


def _change_type(change: ChangeType, case: Case) -> Verdict:
    known, types = case.evidence, case.facts.server.type_system
    if known.rewritten is False and not case.is_in_tree and types.alters(change.old.type, change.type):
        return CARRIED
    if case.policy.keep_existing_structure and change.extent is Extent.NARROW:
        return Verdict(True, f"column {change.name}: the source may have rounded or cut values, the target stays wide")
    how = known.conversion(change.name)
    if how is Conversion.OTHER:
        using = "computed new values" if known.has_using else "may have computed new values"
        return Verdict(True, f"column {change.name}: the source {using} with a USING clause, which are not in the log")
    found = _cast(how, change, types)
    widens = change.extent in (Extent.WIDEN, Extent.COLLATE) and how is not Conversion.BY_TEXT
    if widens or found is Cast.SAME_EVERYWHERE or (found is Cast.BY_TIME_ZONE and known.timezone):
        return CARRIED
    return Verdict(True, f"column {change.name}: the cast is {found}")


def _cast(how: Conversion, change: ChangeType, types: TypeSystem) -> Cast:
    known = {
        Conversion.ASSIGN: types.cast,
        Conversion.CAST: types.explicit_cast,
        Conversion.BY_TEXT: types.cast_by_text,
    }
    return known[how](change.old.type, change.type)


def _change_generated(change: ChangeGenerated, case: Case) -> Verdict:
    """Judge a generated column: one that only the source can compute now gets values that the log lacks."""
    is_lost = case.source.column(change.id).generated and not case.held.column(change.id).generated
    return _computed_at_source(change.name) if is_lost else CARRIED


def judge_computed(source_before: Table, was: Table, case: Case) -> Iterator[Verdict]:
    """Judge columns that the source computes otherwise now, and whose values the target has as those of plain columns.

    was: the shape that the target would have before the change.
    """
    plain = {c.id for c in case.held.columns if not c.generated} & {c.id for c in was.columns if not c.generated}
    if any(column.generated and column.id in plain for column in case.source.columns):
        for one in diff(source_before, case.source, case.facts.server.type_system):
            if isinstance(one, ChangeGenerated) and one.id in plain and one.old.generated and one.generated:
                yield _computed_at_source(one.name)


def _computed_at_source(name: str) -> Verdict:
    return Verdict(True, f"the values of {name} are computed at the source only")


def _change_logging(change: ChangeLogging, case: Case) -> Verdict:
    return (
        CARRIED if change.unlogged else Verdict(True, "what was written while the table was unlogged is not in the log")
    )


def _replace_type(change: ReplaceType, case: Case) -> Verdict:
    return Verdict(True, f"labels of {change.new.name} were removed or renamed")


def _partition_key(change: ChangePartitionKey, case: Case) -> Verdict:
    return Verdict(
        code="ADP-102", why=f"no server can change how a table is partitioned: {change.describe()}", hint=_ANEW
    )


def _opaque(change: Opaque, case: Case) -> Verdict:
    return Verdict(code="ADP-101", why=f"a difference that no kind of change explains: {change.describe()}", hint=_ANEW)


_ANEW = "drop the target table and refresh this table (ddlrepl refresh --table), or take it out of the channel"

JUDGE: dict[type[SchemaChange], Callable[[Any, Case], Verdict]] = {
    RenameType: _carried,
    CreateType: _carried,
    ForgetType: _carried,
    ChangeTypeDefinition: _carried,
    ReplaceType: _replace_type,
    RenameTable: _carried,
    DetachPartition: _carried,
    AttachPartition: _carried,
    ChangeKey: _carried,
    AddColumn: _add_column,
    DropColumn: _carried,
    RenameColumn: _carried,
    ChangeType: _change_type,
    ChangeDefault: _carried,
    ChangeNullability: _carried,
    ChangeIdentity: _carried,
    ChangeGenerated: _change_generated,
    ChangeLogging: _change_logging,
    ChangeReplicaIdentity: _carried,
    ChangePartitionKey: _partition_key,
    Opaque: _opaque,
}
