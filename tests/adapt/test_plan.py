"""Laws of plans: holding is a projection, planning twice finds nothing, a plan never lies about what it does."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_ddlrepl import ddl
from airflow_ddlrepl.adapt.plan.change_at_target import ChangeAtTarget
from airflow_ddlrepl.adapt.plan.plan import plan as plan_of
from airflow_ddlrepl.adapt.plan.text import as_text
from airflow_ddlrepl.adapt.plan.verdicts import JUDGE
from airflow_ddlrepl.adapt.plan_model import StepKind, TablePlan
from airflow_ddlrepl.adapt.policy import Policy, policy_for
from airflow_ddlrepl.adapt.shape.target_shape import Note, hold
from airflow_ddlrepl.adapt.target_facts import TargetFacts, TargetServer
from airflow_ddlrepl.config.sections.adapt_actions import AdaptAction
from airflow_ddlrepl.config.sections.policies import (
    Defaults,
    OnAddColumnWithDefault,
    OnDropTable,
    OnEnrollBreak,
    OnPreserveAlterTableFail,
)
from airflow_ddlrepl.ddl.base.change import SchemaChange, TableChange
from airflow_ddlrepl.ddl.base.edit import comparable
from airflow_ddlrepl.ddl.columns.fill_column import FillColumn
from airflow_ddlrepl.ddl.opaque import Opaque
from airflow_ddlrepl.ddl.sql.statement import Evidence
from airflow_ddlrepl.ddl.tables.change_partition_key import ChangePartitionKey
from airflow_ddlrepl.ddl.tables.create_table import CreateTable
from airflow_ddlrepl.ddl.tables.drop_table import DropTable
from airflow_ddlrepl.ddl.tables.truncate import Truncate
from airflow_ddlrepl.engines.postgres.ddl.render import RENDER, PostgresDdl
from airflow_ddlrepl.engines.postgres.types.type_system import POSTGRES_TYPES
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Key, Table
from airflow_ddlrepl.model.types import DataType
from airflow_ddlrepl.notation.refresh_options import read_options
from tests.support.shapes import PLAIN_TYPES, tables

KNOWN = st.sampled_from([None, True, False])
EVIDENCE = st.builds(Evidence, has_using=KNOWN, rewritten=KNOWN, filled=KNOWN, timezone=st.sampled_from([None, "UTC"]))
POLICIES = st.builds(
    Policy,
    on_enroll_break=st.sampled_from(OnEnrollBreak),
    on_add_column_with_default=st.sampled_from(OnAddColumnWithDefault),
    on_preserve_alter_table_fail=st.sampled_from(OnPreserveAlterTableFail),
    on_drop_table=st.sampled_from(OnDropTable),
    keep_existing_structure=st.booleans(),
    defaults=st.sampled_from(Defaults),
)
SERVER = TargetServer(POSTGRES_TYPES)
FACTS = st.builds(
    TargetFacts,
    st.builds(
        TargetServer, st.just(POSTGRES_TYPES), version=st.sampled_from([15, 18]), publishes_generated=st.booleans()
    ),
)
INT4 = PLAIN_TYPES[0]
OLD = Table(1, TableName("public", "t"), (Column(1, "id", INT4, nullable=False),), key=Key((1,), "k", True))


PLAIN = TargetFacts(SERVER)


def plan(old: Table | None, new: Table | None, facts: TargetFacts = PLAIN, **known: Any) -> TablePlan:
    return plan_of(ChangeAtTarget(old, new, facts=facts, **known))


@given(tables(), FACTS)
@settings(deadline=None)
def test_what_a_target_holds_it_holds(table: Table, facts: TargetFacts) -> None:
    held = hold(table, None, facts)
    assert hold(held, None, facts) == held


@given(tables(), tables(), FACTS, FACTS)
@settings(deadline=None)
def test_what_is_known_of_other_tables_changes_no_shape(
    table: Table, other: Table, facts: TargetFacts, elsewhere: TargetFacts
) -> None:
    """Tables share what their columns become: at this target, not at another one, and each tells what it leaves out."""
    for one in (other, table.with_(id=7, name=TableName("a", "b"))):
        for place in (facts, elsewhere):
            hold(one, None, place)
    for place in (facts, elsewhere):
        found: list[Note] = []
        alone: list[Note] = []
        assert hold(table, None, place, found.append) == hold(
            table, None, replace(place, server=replace(place.server)), alone.append
        )
        assert found == alone


def test_tables_with_the_same_columns_share_those_of_the_target() -> None:
    facts = TargetFacts(SERVER)
    columns = (Column(1, "id", INT4, default="nextval('s'::regclass)"), *OLD.columns[1:])
    one, other = (OLD.with_(id=i, name=TableName("public", f"t{i}"), columns=columns) for i in (1, 2))
    notes: list[Note] = []
    held = [hold(table, None, facts, notes.append) for table in (one, other)]
    assert held[0].columns is held[1].columns is not columns
    assert [table.name for table in held] == [one.name, other.name] and len(notes) == 2


@given(tables(), tables(), EVIDENCE, POLICIES, FACTS)
@settings(max_examples=60, deadline=None)
def test_planning_again_finds_nothing(
    old: Table, new: Table, evidence: Evidence, policy: Policy, facts: TargetFacts
) -> None:
    render = PostgresDdl(facts.server.version)
    start = hold(old, None, facts)
    made = plan(start, new, render=render, evidence=evidence, policy=policy, facts=facts, source_before=old)
    assert made.shape is not None
    if any(s.kind is StepKind.REFUSE for s in made.steps):
        assert made.shape == start and made.stops and made.refusal() is not None and not made.sql
        return
    again = plan(made.shape, new, render=render, policy=policy, facts=facts, source_before=new)
    assert again.steps == () and again.changes == ()
    assert comparable(again.shape or new) == comparable(made.shape)


@given(tables(), tables(), EVIDENCE, POLICIES)
@settings(max_examples=50, deadline=None)
def test_plans_can_be_read(old: Table, new: Table, evidence: Evidence, policy: Policy) -> None:
    made = plan(old, new, render=PostgresDdl(), evidence=evidence, policy=policy)
    assert made.to_json()["table"] == str(new.name)
    text = as_text([made])
    assert all(line in text for statement in made.sql for line in statement.splitlines())


@given(tables(), EVIDENCE)
@settings(deadline=None)
def test_our_own_policies_never_leave_rows_that_differ(table: Table, evidence: Evidence) -> None:
    new = table.with_(columns=tuple(replace(c, type=PLAIN_TYPES[2], collation=None) for c in table.columns))
    made = plan(table, new, render=PostgresDdl(), evidence=replace(evidence, has_using=None, rewritten=True))
    converts = any("(convert)" in c or "(narrow)" in c or "(widen)" in c for c in made.changes)
    assert made.needs_refresh or made.stops or not converts


def test_a_policy_is_taken_from_the_first_action_that_has_one() -> None:
    actions = [
        AdaptAction(table="t*", on_enroll_break="WARNING"),
        AdaptAction(on_enroll_break="fail_integ_job", on_drop_table="KEEP", keep_existing_structure=True),
    ]
    found = policy_for(TableName("public", "tab"), actions)
    assert (found.on_enroll_break, found.on_drop_table) == (OnEnrollBreak.WARNING, OnDropTable.KEEP)
    assert found.keep_existing_structure
    assert policy_for(TableName("public", "x"), actions).on_enroll_break is OnEnrollBreak.FAIL_INTEG_JOB
    assert policy_for(TableName("public", "x"), [], defaults=Defaults.HVR).on_add_column_with_default is (
        OnAddColumnWithDefault.ADD_COLUMN_WITH_EMPTY_DEFAULT
    )


@pytest.mark.req("HVR-P-43")
def test_add_column_policy_wins_over_enroll_break() -> None:
    new = OLD.with_(columns=(*OLD.columns, Column(2, "c", INT4, default="7", missing="7")))
    policy = Policy(OnEnrollBreak.WARNING, OnAddColumnWithDefault.REFRESH)
    made = plan(OLD, new, render=PostgresDdl(), evidence=Evidence(rewritten=False), policy=policy)
    assert made.needs_refresh and made.policies == ("on_add_column_with_default=REFRESH",)


@pytest.mark.parametrize(
    "added", [OnAddColumnWithDefault.ADD_COLUMN_WITH_EMPTY_DEFAULT, OnAddColumnWithDefault.WARNING]
)
def test_hvr_refreshes_a_table_without_key_whatever_the_new_columns_default(added: OnAddColumnWithDefault) -> None:
    old = OLD.with_(key=None)
    new = old.with_(columns=(*OLD.columns, Column(2, "c", INT4, default="7", missing="7")))
    policy = Policy(on_add_column_with_default=added, defaults=Defaults.HVR)
    made = plan(old, new, render=PostgresDdl(), evidence=Evidence(rewritten=False), policy=policy)
    assert made.needs_refresh and "on_enroll_break=REFRESH" in made.policies
    keyed = plan(OLD, new.with_(key=OLD.key), render=PostgresDdl(), evidence=Evidence(rewritten=False), policy=policy)
    assert not keyed.needs_refresh


def test_policies_may_differ_per_target() -> None:
    new = OLD.with_(columns=(replace(OLD.columns[0], type=PLAIN_TYPES[2]),))
    one = plan(OLD, new, render=PostgresDdl(), policy=Policy(OnEnrollBreak.REFRESH))
    other = plan(OLD, new, render=PostgresDdl(), policy=Policy(OnEnrollBreak.WARNING))
    assert one.needs_refresh and not one.sql
    assert not other.needs_refresh and other.sql


def test_after_a_breakpoint_was_removed_the_plan_goes_on() -> None:
    new = OLD.with_(columns=(replace(OLD.columns[0], type=PLAIN_TYPES[2]),))
    policy = Policy(OnEnrollBreak.FAIL_INTEG_JOB)
    assert plan(OLD, new, render=PostgresDdl(), policy=policy).stops
    assert not plan(OLD, new, render=PostgresDdl(), policy=policy.after_approval()).stops


def test_a_rename_onto_a_strangers_table_is_refused() -> None:
    occupant = Table(9, TableName("public", "u"), ())
    facts = TargetFacts(SERVER, occupant=occupant)
    made = plan(OLD, OLD.with_(name=occupant.name), render=PostgresDdl(), facts=facts)
    assert [s.code for s in made.steps] == ["ADP-104"] and made.shape == OLD


@pytest.mark.parametrize(
    ("policy", "limit"),
    [
        (Policy(refresh=read_options("-gr")), ""),
        (Policy(refresh=read_options("-gr -md")), ""),
        (Policy(), "id > 1"),
    ],
)
def test_rows_that_have_to_stay_are_not_created_again(policy: Policy, limit: str) -> None:
    """A target that can't rename a column replaces its table by a refresh; not where the refresh leaves rows."""
    new = OLD.with_(columns=(replace(OLD.columns[0], name="other"),))
    facts = TargetFacts(replace(SERVER, renames_columns=False))
    refused = plan(OLD, new, render=PostgresDdl(), facts=facts, policy=policy, limit=limit)
    assert [step.code for step in refused.steps] == ["ADP-174"]
    replaced = plan(OLD, new, render=PostgresDdl(), facts=facts)
    assert [step.kind for step in replaced.steps] == [StepKind.REFRESH]
    assert replaced.until_refresh is not None and replaced.until_refresh.columns == OLD.columns


def test_a_column_of_the_targets_own_is_never_taken() -> None:
    new = OLD.with_(columns=(*OLD.columns, Column(2, "c", INT4)))
    existing = OLD.with_(columns=(*OLD.columns, Column(7, "c", DataType("text", "pg_catalog", "text", id=25))))
    made = plan(OLD, new, render=PostgresDdl(), facts=TargetFacts(SERVER, existing=existing))
    assert [s.code for s in made.steps] == ["ADP-105"]


def test_a_table_that_waits_for_a_refresh_gets_nothing_else() -> None:
    new = OLD.with_(name=TableName("public", "u"), columns=(*OLD.columns, Column(2, "c", INT4)))
    made = plan(OLD, new, render=PostgresDdl(), facts=TargetFacts(SERVER, is_pending=True))
    assert made.sql == ('ALTER TABLE "public"."t" RENAME TO "u"',) and made.needs_refresh


def test_names_are_mapped() -> None:
    new = OLD.with_(columns=(*OLD.columns, Column(2, "c", INT4)))
    facts = TargetFacts(SERVER, name_before=TableName("dw", "t"), name_after=TableName("dw", "t"))
    made = plan(OLD, new, render=PostgresDdl(), facts=facts)
    assert made.sql == ('ALTER TABLE "dw"."t" ADD COLUMN "c" integer',)
    assert made.shape is not None and made.shape.name == TableName("dw", "t")


def test_every_kind_has_its_rows() -> None:
    """A kind that nobody can render or judge would be found only when it happens."""
    for name in (m.name for m in pkgutil.iter_modules(ddl.__path__)):
        importlib.import_module(f"airflow_ddlrepl.ddl.{name}")
    classes = (*SchemaChange.__subclasses__(), *TableChange.__subclasses__())
    kinds = {c.kind for c in classes if "kind" in vars(c)}
    assert kinds - {k.kind for k in RENDER} == {Opaque.kind, ChangePartitionKey.kind}
    assert kinds - {k.kind for k in JUDGE} == {CreateTable.kind, DropTable.kind, Truncate.kind, FillColumn.kind}


def test_a_new_expression_of_the_users_brings_the_values_anew() -> None:
    """The target keeps values that it can't compute: the log carries those of later rows only."""
    facts = TargetFacts(replace(SERVER, publishes_generated=True))
    old = OLD.with_(columns=(*OLD.columns, Column(2, "g", INT4, default="id * 2", generated="stored")))
    new = old.with_(columns=(*OLD.columns, Column(2, "g", INT4, default="public.f(id)", generated="stored")))
    made = plan(hold(old, None, facts), new, render=PostgresDdl(18), facts=facts, source_before=old)
    assert made.needs_refresh and made.shape is not None and made.shape.column(2).generated == ""


def test_a_new_expression_of_the_users_is_refused_where_the_log_lacks_its_values() -> None:
    facts = TargetFacts(SERVER)
    new = OLD.with_(columns=(*OLD.columns, Column(2, "g", INT4, default="public.f(id)", generated="stored")))
    made = plan(OLD, new, render=PostgresDdl(18), facts=facts, source_before=OLD)
    assert [step.code for step in made.steps if step.kind is StepKind.REFUSE] == ["ADP-103"]
