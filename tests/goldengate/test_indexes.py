"""Indexes of patterns and clauses find what asking each of them finds, and names of targets are folded."""

from __future__ import annotations

import random

import pytest

from airflow_ddlrepl.goldengate.filter_clauses import OPTIONS, decide
from airflow_ddlrepl.goldengate.parameters import prepared
from airflow_ddlrepl.goldengate.parameters.clauses import Clause
from airflow_ddlrepl.goldengate.parameters.names import NameIndex, any_matches
from airflow_ddlrepl.goldengate.record import Record
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.notation.name_pattern import matches_name
from tests.goldengate.evaluating import at_replicat

PARTS = ["hr", "HR", "oe", "*", "h*", "?r", "a|hr", '"hr"', "t1", "t*", "*1", '"T1"', '"T"*', "[st]1"]
NAMES = [TableName(schema, name) for schema in ("hr", "HR", "oe", "a") for name in ("t1", "T1", "s1", "hr", "x")]


def patterns(chance: random.Random, count: int) -> tuple[str, ...]:
    two = [f"{chance.choice(PARTS)}.{chance.choice(PARTS)}" for _ in range(count)]
    return tuple(chance.choice(PARTS) if chance.random() < 0.2 else one for one in two)


@pytest.mark.parametrize("seed", range(20))
def test_an_index_finds_the_patterns_that_match(seed: int) -> None:
    found = patterns(random.Random(seed), 40)
    index = NameIndex(found)
    for name in NAMES:
        expected = [number for number, one in enumerate(found) if matches_name(one, name)]
        assert index.matching(name) == expected
        assert any_matches(found, name) is bool(expected)


@pytest.mark.parametrize("seed", range(20))
def test_an_index_finds_the_first_clause_that_is_true(seed: int) -> None:
    chance = random.Random(seed)
    clauses = tuple(
        Clause.model_validate(
            {"objname": chance.choice([None, pattern]), "optype": chance.choice([None, "CREATE", "ALTER"])}
        )
        for pattern in patterns(chance, 12)
    )
    for base in NAMES:
        for derived in (None, NAMES[0]):
            record = Record("", operation="ALTER", base=base, derived=derived, is_rename=derived is not None)
            expected = next((number for number, one in enumerate(clauses) if holds(one, record)), None)
            why = "no include clause is true" if expected is None else f"include[{expected}] is true"
            assert decide(clauses, (), record).why.startswith(why)


def holds(clause: Clause, record: Record) -> bool:
    """Is each option of a clause true, asked one by one?"""
    names = [one for one in (record.base, record.derived) if one is not None]
    is_named = clause.objname is None or any(matches_name(clause.objname, one) for one in names)
    return is_named and all(test(clause, record) for is_there, test in OPTIONS if is_there(clause))


def test_what_is_prepared_is_of_the_object_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when more objects come than are kept: an object's identity may be that of one that is gone."""
    monkeypatch.setattr(prepared, "MOST", 3)
    calls: list[int] = []

    @prepared.prepared_once
    def length(one: list[int]) -> int:
        calls.append(len(one))
        return len(one)

    kept = [list(range(n)) for n in range(3)]
    assert [length(one) for one in [*kept, *kept]] == [0, 1, 2, 0, 1, 2]
    assert calls == [0, 1, 2]
    assert [length(list(range(n))) for n in range(20)] == list(range(20))


@pytest.mark.parametrize(
    ("dialect", "target", "expected"),
    [
        ("postgres", "BK.Bak_*", "DROP TABLE bk.bak_pay"),
        ("postgres", '"BK".Bak_*', 'DROP TABLE "BK".bak_pay'),
        ("oracle", "bk.bak_*", "DROP TABLE BK.BAK_PAY"),
        ("mysql", "BK.Bak_*", "DROP TABLE BK.Bak_pay"),
    ],
)
def test_the_name_of_a_target_in_no_quotes_is_as_its_dialect_folds_it(dialect: str, target: str, expected: str) -> None:
    found = at_replicat("DROP TABLE hr.pay", dialect=dialect, maps=[{"source": "hr.*", "target": target}])
    assert found.record.text == expected
