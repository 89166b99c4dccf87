"""Rule sets: which changes a target takes."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from airflow_ddlrepl.config.sections.places import Rule, RuleSets
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.scope.client import Client
from airflow_ddlrepl.scope.decide import ChangeKind, decide

# messages: a is true in the positive set only, b in both, c in neither, d in the negative set only
RULES = {"positive": [{"tables": ["s.a", "s.b"]}], "negative": [{"tables": ["s.b", "s.d"]}]}


def taken(sets: RuleSets, kind: ChangeKind = ChangeKind.DML) -> str:
    client = Client(rules=sets)
    return "".join(name for name in "abcd" if decide(client, TableName("s", name), kind).is_taken)


@pytest.mark.parametrize(
    ("negative", "positive", "expected"),
    [
        pytest.param("none", "none", "abcd", marks=pytest.mark.req("ST-R-33")),
        pytest.param("none", "rules", "ab", marks=pytest.mark.req("ST-R-34")),
        pytest.param("rules", "none", "ac", marks=pytest.mark.req("ST-R-35")),
        pytest.param("rules", "rules", "a", marks=pytest.mark.req("ST-R-36", "ST-R-07")),
        pytest.param("empty", "none", "abcd", marks=pytest.mark.req("ST-R-37")),
        pytest.param("empty", "rules", "ab", marks=pytest.mark.req("ST-R-38")),
        pytest.param("none", "empty", "", marks=pytest.mark.req("ST-R-39")),
        pytest.param("empty", "empty", "", marks=pytest.mark.req("ST-R-40")),
        pytest.param("rules", "empty", "", marks=pytest.mark.req("ST-R-41")),
    ],
)
@pytest.mark.parametrize("kind", [ChangeKind.DML, ChangeKind.DDL])
def test_what_two_sets_let_through(negative: str, positive: str, expected: str, kind: ChangeKind) -> None:
    said = {"negative": negative, "positive": positive}
    given = {name: RULES[name] if how == "rules" else [] for name, how in said.items() if how != "none"}
    assert taken(RuleSets.model_validate(given), kind) == expected


@pytest.mark.req("ST-R-15", "ST-R-28")
def test_one_true_positive_rule_is_enough() -> None:
    sets = RuleSets(positive=(Rule(tables=("s.x",)), Rule(tables=("s.a",))))
    assert taken(sets) == "a"


@pytest.mark.req("ST-R-16", "ST-R-29")
def test_one_true_negative_rule_discards() -> None:
    sets = RuleSets(negative=(Rule(tables=("s.x",)), Rule(tables=("s.a",))))
    assert taken(sets) == "bcd"
    assert decide(Client(rules=sets), TableName("s", "a"), ChangeKind.DML).why == "rules.negative[1] discards its DML"


def test_a_rule_may_be_about_one_kind_only() -> None:
    sets = RuleSets(positive=(Rule(tables=("s.*",)),), negative=(Rule(tables=("s.a",), dml=False),))
    assert (taken(sets, ChangeKind.DML), taken(sets, ChangeKind.DDL)) == ("abcd", "bcd")
    assert decide(Client(rules=sets), TableName("s", "a"), ChangeKind.TABLE).is_taken
    assert not decide(Client(rules=sets), TableName("other", "a"), ChangeKind.TABLE).is_taken


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"tables": []}, "at least 1 item"),
        ({"tables": ["nodot"]}, "schema.table"),
        ({"tables": ["*.*"], "dml": False, "ddl": False}, "has no effect"),
        ({"tables": ["*.*"], "dml": "no"}, "true or false"),
        ({"tables": ["*.*"], "delete": False}, "Extra inputs"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(wrong: dict[str, object], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        RuleSets.model_validate({"negative": [wrong]})
