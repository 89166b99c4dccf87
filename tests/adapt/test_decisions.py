"""decisions.yaml, row by row, and that a decision for PostgreSQL is what the planner does. No DBMS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_ddlrepl.adapt.plan.change_at_target import ChangeAtTarget
from airflow_ddlrepl.adapt.plan.plan import plan, target_shape
from airflow_ddlrepl.adapt.policy import Policy, policy_for
from airflow_ddlrepl.adapt.target_facts import TargetFacts, TargetServer
from airflow_ddlrepl.config.sections.adapt_actions import AdaptAction
from airflow_ddlrepl.config.sections.policies import Defaults
from airflow_ddlrepl.ddl.sql.statement import Evidence
from airflow_ddlrepl.engines.postgres.ddl.render import PostgresDdl
from airflow_ddlrepl.engines.postgres.types.type_system import POSTGRES_TYPES
from airflow_ddlrepl.hvr.ddl_table import ROWS, Ddl, Outcome
from airflow_ddlrepl.hvr.profile import Profile, profiles
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Key, Table
from docs.tools.hvr.databases_page import hvr_policy, markdown
from docs.tools.hvr.decision import Decision, decide, read_plan
from docs.tools.hvr.occurrence import ORDERS, Occurrence, example
from tests.adapt.test_plan import EVIDENCE, POLICIES
from tests.support.shapes import tables

ROOT = Path(__file__).parents[2]
DECISIONS = yaml.safe_load(Path(__file__).with_name("decisions.yaml").read_text(encoding="utf-8"))
KEYS = {"primary": ORDERS.key, "unique": Key((1,), "orders_id", False), "none": None}
POSTGRESQL = profiles()["postgresql"]


def rows() -> Iterator[Any]:
    for number, row in enumerate(DECISIONS):
        for database in row["databases"]:
            for statement in row["statements"]:
                marks = [pytest.mark.req(*row.get("req", ()), "XR-04"), pytest.mark.modelled]
                yield pytest.param(row, database, statement, id=f"{number}-{database}-{statement}", marks=marks)


@pytest.mark.parametrize(("row", "database", "statement"), list(rows()))
def test_decision(row: dict[str, Any], database: str, statement: str) -> None:
    known = {"req", "databases", "statements", "settings", "facts", "policy", "defaults", "without"}
    assert not row.keys() - known - {"then", "decided", "late", "warns"}
    facts = dict(row.get("facts", {}))
    of = ORDERS.with_(key=KEYS[facts.pop("key", "primary")])
    what = replace(example(Ddl(statement), of), **facts)
    made = decide(what, profiles()[database], _policy(row), row.get("settings"))
    assert _outcomes(made) == row["then"], made
    assert made.policy == row.get("decided", made.policy)
    assert made.is_late is row.get("late", False)
    assert row.get("warns", "") in " ".join(made.warnings)


def _policy(row: dict[str, Any]) -> Policy:
    actions = () if row.get("without") else (AdaptAction.model_validate(row.get("policy", {})),)
    return policy_for(TableName("public", "orders"), actions, actions, Defaults(row.get("defaults", "hvr")))


def _outcomes(made: Decision) -> str:
    return str(made.outcome) if made.then is None else f"{made.outcome} + {_outcomes(made.then)}"


def test_every_profile_has_rows() -> None:
    assert {database for row in DECISIONS for database in row["databases"]} == profiles().keys()


@pytest.mark.modelled
@pytest.mark.req("HVR-D-52")
def test_an_encryption_is_no_change_of_the_targets_table() -> None:
    what = example(Ddl.CHANGE_ENCRYPTION)
    assert what.before == what.after
    assert decide(what, profiles()["oracle"], hvr_policy()).outcome is Outcome.REFRESHED


@pytest.mark.parametrize("statement", Ddl)
def test_without_notes_the_table_of_statements_decides(statement: Ddl) -> None:
    row = ROWS[statement]
    plain = Profile(
        name=(*row.only, "plain")[0],
        title="Plain",
        adapts_without_refresh=True,
        refresh_source="nowhere",
        shows_defaults=True,
        defaults_source="nowhere",
    )
    assert decide(example(statement), plain, hvr_policy()).outcome == row.adapting
    assert decide(example(statement), plain, replace(hvr_policy(), adapts=False)).outcome == row.without


@pytest.mark.modelled
@pytest.mark.req("HVR-D-95")
def test_a_redefinition_is_told_from_a_table_that_was_made_again_by_its_creation() -> None:
    redefined = Occurrence(ORDERS, ORDERS.with_(id=2), is_same_creation=True)
    assert redefined.rows == (Ddl.REDEFINE_STORAGE,)
    assert replace(redefined, is_same_creation=False).rows == (Ddl.DROP_THEN_CREATE_TABLE,)


# the planner's own answers

FACTS = TargetFacts(TargetServer(POSTGRES_TYPES))
SHAPES = st.one_of(st.none(), tables())


@pytest.mark.req("XR-04")
@given(SHAPES, SHAPES, EVIDENCE, POLICIES, st.booleans())
@settings(max_examples=60, deadline=None)
def test_for_postgresql_the_planner_says_the_same(
    before: Table | None, after: Table | None, evidence: Evidence, policy: Policy, adapts: bool
) -> None:
    if before is None and after is None:
        return
    stands = target_shape(before, facts=FACTS) if before else None
    _agree(Occurrence(stands, after, None, evidence), policy, adapts)


@pytest.mark.parametrize("statement", [statement for statement in Ddl if example(statement).told is None])
@given(policy=POLICIES, adapts=st.booleans())
@settings(max_examples=10, deadline=None)
def test_every_statement_that_changes_a_shape_is_the_planners(statement: Ddl, policy: Policy, adapts: bool) -> None:
    what = example(statement)
    _agree(replace(what, evidence=replace(what.evidence, filled=False)), policy, adapts)


def _agree(what: Occurrence, policy: Policy, adapts: bool) -> None:
    """Event triggers tell of every new table whether it was born with rows."""
    policy = replace(policy, adapts=adapts)
    made = plan(ChangeAtTarget(what.before, what.after, PostgresDdl(), FACTS, what.evidence, policy))
    if {step.code for step in made.steps} & {"ADP-110", "ADP-111"}:
        return  # what the target's engine can't write is none of the source's
    decided = decide(what, POSTGRESQL, policy, {"ddl": "relations" if what.evidence.filled is None else "triggers"})
    assert replace(decided, is_late=False, why="") == replace(read_plan(made, what.before), why="")
    assert decided.policy in ("", *made.policies)
    assert made.stops or made.needs_refresh is (decided.outcome in (Outcome.REFRESHED, Outcome.ALTERED_AND_REFRESHED))


def test_the_page_is_generated() -> None:
    page = (ROOT / "docs/databases.md").read_text(encoding="utf-8")
    assert page == markdown().rstrip() + "\n", "python -m docs.tools.hvr.databases_page > docs/databases.md"
