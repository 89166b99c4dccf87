"""Values that a schema change takes from a target are a warning of the run that did it, and of the plan before."""

from __future__ import annotations

from tests.support.replica import Make


def test_a_dropped_column_is_a_warning_of_the_plan_s_run(make: Make) -> None:
    made = make("CREATE TABLE t (id int PRIMARY KEY, v text, w int)", "INSERT INTO t VALUES (1, 'only here', 1)")
    made.settle()
    made.at_source("ALTER TABLE t DROP COLUMN v, ADD COLUMN x int", "ALTER TABLE t RENAME w TO y")
    plan, *_ = made.plan().targets["warehouse"]
    lost = "the values of column v are lost at the target"
    assert (plan.hazards, plan.losses) == ((lost,), (lost,))
    done = made.replicate()
    assert done.adapt.warnings == (f"target warehouse: public.t: {lost}",)
    assert made.rows("TABLE t") == [(1, 1, None)]


def test_a_dropped_attribute_is_a_warning_too(make: Make) -> None:
    made = make(
        "CREATE TYPE pair AS (a int, b int)",
        "CREATE TABLE t (id int PRIMARY KEY, p pair)",
        "INSERT INTO t VALUES (1, '(1,2)')",
    )
    made.settle()
    made.at_source("ALTER TYPE pair DROP ATTRIBUTE b")
    (told,) = made.replicate().adapt.warnings
    assert told == "target warehouse: public.t: the values of attribute b of pair are lost at the target"
    assert made.rows("SELECT p::text FROM t") == [("(1)",)]
