"""Rules evaluated for the rows of a batch at once decide as they do for each row."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.condition.kinds import Kind
from airflow_ddlrepl.streams.evaluation import row_numbers
from airflow_ddlrepl.streams.evaluation.keys import KeyIndex, keys_of
from airflow_ddlrepl.streams.evaluation.row_batch import RowBatch
from airflow_ddlrepl.streams.parsing.parser import parse
from airflow_ddlrepl.streams.rules.batches import DISCARDED, WITHOUT_RULE, BatchEvaluator
from airflow_ddlrepl.streams.rules.client import Client, ClientKind
from airflow_ddlrepl.streams.rules.decide import decide
from airflow_ddlrepl.streams.rules.rule import RuleSet, make_rule
from tests.streams.making import client, made

COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "K": (pa.int64(), [1, 2, 5]),
    "N": (pa.decimal128(12, 3), [Decimal("1.5"), Decimal("2.000"), Decimal("-7.125"), None]),
    "F": (pa.float64(), [0.1, 2.0, float("nan"), None]),
    "G": (pa.float32(), [0.5, None]),
    "T": (pa.string(), ["a", "Ab", "", "x%y", None]),
    "D": (pa.timestamp("us", tz="UTC"), [datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 6, 1, 12, tzinfo=UTC), None]),
    "R": (pa.binary(), [b"\1", b"\xff\0", None]),
    "Q": (pa.string(), ["1.50", "2", None]),
    "B": (pa.bool_(), [True, False, None]),
}


def random_batch(dice: random.Random, rows: int = 40) -> RowBatch:
    """A batch with changes of all kinds, absent values, keys and whole rows as images before, and tags."""
    ops = np.array([dice.choice([0, 1, 2]) for _ in range(rows)], np.int8)
    least = dice.choice([0, 1, 2])
    before = np.array([0 if op == 1 else dice.randint(least, 2) for op in ops], np.int8)
    data: dict[str, Any] = {"op": ops, "before": before}
    absent = {}
    for name, (type, values) in COLUMNS.items():
        data[f"a_{name}"] = pa.array([dice.choice(values) for _ in range(rows)], type)
        if name != "R":
            data[f"b_{name}"] = pa.array([dice.choice(values) for _ in range(rows)], type)
    if dice.random() < 0.5:
        absent["T"] = np.array([op == 2 and dice.random() < 0.5 for op in ops])
    tags = pa.array([dice.choice([None, b"\1"]) for _ in range(rows)], pa.binary()) if dice.random() < 0.5 else None
    attributes = {"get_scn": pa.array([dice.randint(1, 9) for _ in range(rows)], pa.int64())}
    return RowBatch(
        "HR", "T", "DBS1", pa.table(data), absent, frozenset("K"), {"Q": Kind.NUMBER}, tags, attributes,
    )  # fmt: skip


def value(dice: random.Random, name: str, access: str) -> str:
    image = dice.choice(["OLD", "NEW"])
    use_old = dice.choice(["", "", ",'N'"]) if image == "NEW" else ""
    return f":dml.get_value('{image}','\"{name}\"'{use_old}).{access}()"


def leaf(dice: random.Random) -> str:
    """One comparison or other truth, chosen by dice."""
    number = value(dice, dice.choice(["K", "N", "F", "K", "N", "G", "Q", "T"]), "AccessNumber")
    text = value(dice, dice.choice(["T", "T", "K", "MISSING"]), "AccessVarchar2")
    other, name = dice.choice(["'Ab'", "NULL"]), dice.choice(["T", "K", "R", "MISSING"])
    image = dice.choice(["OLD", "NEW"])
    sign = dice.choice(["=", "<>", "<", "<=", ">", ">="])
    return dice.choice(
        [
            f"{number} {sign} {dice.choice(['2', '1.5', '0.1', '-7.125', 'NULL'])}",
            f"{text} {sign} '{dice.choice(['a', 'Ab', 'x%y', 'zz'])}'",
            f"{text} LIKE '{dice.choice(['%', 'a_', 'x%%y', '_b'])}'",
            f"{text} NOT IN ('a', {other})",
            f"{number} BETWEEN 1 AND 2.5",
            f"{value(dice, 'K', 'AccessNumber')} {sign} {number}",
            f"{value(dice, 'D', 'AccessTimestamp')} {sign} TIMESTAMP '2024-06-01 12:00:00'",
            f"{value(dice, 'R', 'AccessRaw')} {sign} HEXTORAW('FF00')",
            f"{text} IS NULL",
            f"{number} IS NOT NULL",
            f":dml.get_value('{image}','\"{name}\"') IS NOT NULL",
            f"LENGTH({text}) {sign} 2",
            f"NVL({number}, 2) {sign} 2",
            f"UPPER({text}) = 'AB'",
            f"CASE WHEN {number} > 1 THEN 'big' ELSE 'small' END = 'big'",
            f"{number} + 1 {sign} 3",
            f":dml.get_scn() {sign} 5",
            ":dml.get_command_type() IN ('INSERT', 'DELETE')",
            ":dml.is_null_tag() = 'Y'",
            ":dml.get_tag() = HEXTORAW('01')",
            f":dml.get_object_name() {sign} 'T'",
            ":dml.get_object_owner() = 'OTHER'",
            ":dml.get_source_database_name() = 'DBS1'",
            ":ddl.get_object_name() = 'T'",
        ]
    )


def condition(dice: random.Random, depth: int = 3) -> str:
    if depth == 0 or dice.random() < 0.3:
        return leaf(dice)
    inside = [condition(dice, depth - 1) for _ in range(dice.randint(1, 3))]
    joined = f"({dice.choice([' AND ', ' OR ']).join(inside)})"
    return dice.choice([joined, f"NOT {joined}", f"NOT EXISTS (SELECT 1 FROM SYS.DUAL WHERE {joined})", joined])


@pytest.mark.req("ST-A-08")
@pytest.mark.parametrize("seed", range(25))
def test_a_batch_is_decided_as_its_rows_are(seed: int) -> None:
    dice = random.Random(seed)
    sets: list[RuleSet | None] = []
    for name in ("p", "n"):
        rules = RuleSet(name)
        for number in range(dice.randint(0, 4)):
            rules.add(make_rule(f"{name}{number}", condition(dice)))
        sets.append(rules if dice.random() < 0.8 else None)
    positive, negative = sets
    of = Client("c", ClientKind.PROPAGATION, positive, negative)
    evaluator = BatchEvaluator(of)
    for _ in range(3):
        batch = random_batch(dice)
        found = evaluator.evaluate(batch)
        for at, number in enumerate(found.numbers):
            wanted = decide(of, batch.message(at))
            rule = found.rules[number] if number >= 0 else None
            assert (number != DISCARDED) == wanted.is_taken, batch.message(at)
            assert (rule is None) == (not wanted.is_taken or number == WITHOUT_RULE)
            assert rule is None or rule == wanted.rule


def batch_of(name: str = "T", **columns: Any) -> RowBatch:
    rows = len(next(iter(columns.values())))
    data = {"op": np.ones(rows, np.int8), "before": np.zeros(rows, np.int8)}
    return RowBatch("HR", name, "DBS1", pa.table({**data, **{f"a_{k}": pa.array(v) for k, v in columns.items()}}))


def test_what_the_rules_of_a_table_decide_alone_needs_no_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("rows were looked at")

    monkeypatch.setattr("airflow_ddlrepl.streams.rules.batches.first_true", refuse)
    calls = [
        {"add_table_rules": {"table_name": f"hr.t{n}", "streams_type": "dequeue", "streams_name": "c"}}
        for n in range(9)
    ]
    value_rule = ":lcr.get_value('NEW','K').AccessNumber() = 1"
    calls.append(
        {"add_table_rules": {**calls[0]["add_table_rules"], "table_name": "hr.v", "and_condition": value_rule}}
    )
    evaluator = BatchEvaluator(client(made(*calls), "dequeue", "c"))
    assert list(evaluator.evaluate(batch_of("T7", K=[1, 2])).numbers) == [7, 7]
    assert list(evaluator.evaluate(batch_of("T10", K=[1, 2])).numbers) == [DISCARDED] * 2
    with pytest.raises(AssertionError, match="rows were looked at"):
        evaluator.evaluate(batch_of("V", K=[1, 2]))


def test_conditions_are_compiled_once_for_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    written = []
    plain = row_numbers._compile

    def write(*arguments: Any) -> None:
        written.append(arguments)
        plain(*arguments)

    monkeypatch.setattr(row_numbers, "_compile", write)
    rules = RuleSet("p")
    rules.add(make_rule("r", ":dml.get_value('NEW','K').AccessNumber() = 1"))
    evaluator = BatchEvaluator(Client("c", ClientKind.DEQUEUE, rules))
    for values in ([1, 2], [1], [3, 1, 1]):
        assert [bool(n >= 0) for n in evaluator.evaluate(batch_of(K=values)).numbers] == [v == 1 for v in values]
    assert len(written) == 1
    rules.add(make_rule("r2", ":dml.get_value('NEW','K').AccessNumber() = 2"))
    assert list(evaluator.evaluate(batch_of(K=[1, 2, 3])).numbers) == [0, 1, DISCARDED]


def test_another_rule_set_of_the_same_age() -> None:
    of = Client("c", ClientKind.DEQUEUE)
    evaluator = BatchEvaluator(of)
    assert list(evaluator.evaluate(batch_of(K=[1, 2])).numbers) == [WITHOUT_RULE] * 2
    for value in (1, 2):
        rules = RuleSet("p")
        rules.add(make_rule("r", f":dml.get_value('NEW','K').AccessNumber() = {value}"))
        of.attach(rules, is_positive=True)
        assert list(evaluator.evaluate(batch_of(K=[1, 2])).is_taken) == [value == 1, value == 2]


@pytest.mark.req("ST-R-44")
def test_each_row_of_a_statement_is_evaluated() -> None:
    rules = RuleSet("p")
    rules.add(make_rule("r", ":dml.get_value('NEW','K').AccessNumber() > 1"))
    found = BatchEvaluator(Client("c", ClientKind.DEQUEUE, rules)).evaluate(batch_of(K=[1, 2, 3]))
    assert list(found.is_taken) == [False, True, True]


@pytest.mark.parametrize(
    ("text", "code", "why"),
    [
        (":dml.get_scn() = 1", "RUL-119", r":dml\.get_scn\(\) is not known of the rows of HR\.T"),
        ("1 / :dml.get_value('NEW','K').AccessNumber() = 1", "RUL-118", "division by zero"),
    ],
)
def test_what_can_not_be_computed_for_a_batch(text: str, code: str, why: str) -> None:
    rules = RuleSet("p")
    rules.add(make_rule("r", text))
    with pytest.raises(RuleError, match=why) as found:
        BatchEvaluator(Client("c", ClientKind.DEQUEUE, rules)).evaluate(batch_of(K=[0]))
    assert found.value.code == code


def test_a_truncate_is_no_change_of_a_row() -> None:
    batch = RowBatch("HR", "T", "DBS1", pa.table({"op": pa.array([5], pa.int8()), "before": pa.array([0], pa.int8())}))
    with pytest.raises(RuleError, match="for rules a TRUNCATE is DDL"):
        BatchEvaluator(Client("c", ClientKind.DEQUEUE, RuleSet("p"))).evaluate(batch)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (":dml.get_object_owner() = 'HR' AND :dml.get_object_name() = 'T' AND 1 = 1", {("object", "HR", "T")}),
        (":dml.get_object_name() IN ('A', 'B')", {("object", None, "A"), ("object", None, "B")}),
        (":dml.get_object_owner() = 'A' AND :dml.get_object_owner() = 'B'", set()),
        (":dml.get_object_owner() = 'A' OR :dml.get_scn() = 1", None),
        ("NOT (:dml.get_object_owner() = 'A')", None),
        (
            "(:ddl.get_object_owner() = 'HR' or :ddl.get_base_table_owner() = 'HR') and 1 = 1",
            {("object", "HR", None), ("base", "HR", None)},
        ),
    ],
)
def test_objects_that_a_condition_can_be_true_for(text: str, wanted: Any) -> None:
    assert keys_of(parse(text)) == wanted


def test_the_index_finds_conditions_by_object() -> None:
    texts = [
        ":dml.get_object_owner() = 'HR' AND :dml.get_object_name() = 'T'",
        ":dml.get_object_owner() = 'OE'",
        ":dml.get_object_name() = 'T'",
        ":dml.get_scn() = 1",
        ":ddl.get_base_table_owner() = 'HR' AND :ddl.get_base_table_name() = 'T'",
    ]
    index = KeyIndex(parse(text) for text in texts)
    assert index.of("HR", "T") == [0, 2, 3]
    assert index.of("OE", "X") == [1, 3]
    assert index.of("OE", "IX", ("HR", "T")) == [1, 3, 4]
