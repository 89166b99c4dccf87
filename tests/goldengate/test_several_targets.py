"""How many TARGETs a table can have, and what Replicat makes of a statement for one of them."""

from __future__ import annotations

import random

import pytest

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.goldengate.parameters.mapping import map_of, targets_of
from airflow_ddlrepl.goldengate.parameters.overlaps import hidden
from airflow_ddlrepl.goldengate.parameters.replicat import ReplicatParameters
from airflow_ddlrepl.goldengate.parameters.several_targets import most_targets
from airflow_ddlrepl.goldengate.record import Record
from airflow_ddlrepl.goldengate.replicat import replicate_each
from airflow_ddlrepl.model.names import TableName


def replicat(*pairs: str, **parameters: object) -> ReplicatParameters:
    """Parameters with MAPs that are written `source -> target`."""
    maps = [dict(zip(("source", "target"), pair.split(" -> "), strict=True)) for pair in pairs]
    return ReplicatParameters.model_validate({"maps": maps, **parameters})


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (["hr.* -> bk.*", "oe.* -> bk2.*"], 1),
        (["hr.* -> bk.*", "hr.pay -> bk.pay"], 1),
        (["hr.p* -> bk.*", "hr.* -> bk.*"], 1),
        (["hr.p* -> bk.p*", "hr.* -> bk.*"], 2),
        (["hr.pay -> bk.*", "hr.* -> bk.*"], 1),
        (["hr.a* -> x.*", "hr.b* -> y.*"], 1),
        (["hr.* -> bk.*", "HR.PAY -> bk.pay"], 1),
        (["hr.* -> bk.*", "hr.pay -> audit.pay"], 2),
        (["hr.* -> bk.*", "hr.* -> audit.*", "hr.pay -> old.pay"], 3),
        (["hr.*x -> bk.*", "hr.y* -> audit.*"], 2),
        (["*.pay -> all.pay", "hr.* -> bk.*"], 2),
        (["hr.a|b -> x.y", "hr.a* -> z.*"], 2),
        (["hr.one -> x.y"], 1),
    ],
)
def test_how_many_targets_a_table_can_have(pairs: list[str], expected: int) -> None:
    assert most_targets(replicat(*pairs).maps) == expected


@pytest.mark.parametrize("seed", range(30))
def test_no_table_has_more_targets_than_there_can_be(seed: int) -> None:
    chance = random.Random(seed)
    sources = ["hr.*", "hr.p*", "hr.pay", "hr.?ay", "*.pay", "h*.p*", "hr.p|pay", "oe.*", "hr.*y"]
    pairs = [f"{chance.choice(sources)} -> {chance.choice(['a', 'b', 'c'])}.{chance.choice('xyz')}" for _ in range(7)]
    parameters = replicat(*pairs)
    most = most_targets(parameters.maps)
    for name in (TableName(schema, table) for schema in ("hr", "HR", "oe") for table in ("pay", "PAY", "p", "bay")):
        every = targets_of(name, parameters)
        assert len(every) <= most, pairs
        parts = [parameters.for_nth_target(number) for number in range(1, most + 1)]
        assert tuple(one for part in parts for one in targets_of(name, part)) == every


def test_of_each_target_the_first_map_that_gives_it_decides_about_rows() -> None:
    maps = [
        {"source": "hr.pay", "target": "bk.pay"},
        {"source": "hr.*", "target": "audit.*", "condition": "id > 1"},
        {"source": "hr.pay", "target": "audit.pay", "condition": "id > 2"},
    ]
    parameters = ReplicatParameters.model_validate({"maps": maps})
    name = TableName("hr", "pay")
    assert map_of(name, parameters) == parameters.maps[0]
    assert map_of(name, parameters.for_nth_target(2)) == parameters.maps[1]
    assert map_of(name, parameters.for_nth_target(3)) is None
    assert list(hidden(parameters.maps)) == [(2, 1)]


def test_a_statement_is_evaluated_for_one_of_its_targets() -> None:
    pairs = ["hr.* -> bk.*", "hr.pay -> audit.pay", "hr.dept -> audit.dept"]
    parameters = replicat(*pairs, ddl={"include": [{"scope": "ALL"}]}).for_nth_target(2)

    def texts(statement: str) -> list[str]:
        return [one.record.text for one in replicate_each(Record(statement), parameters)]

    assert texts("ALTER TABLE hr.pay ADD x int REFERENCES hr.dept") == [
        "ALTER TABLE audit.pay ADD x int REFERENCES audit.dept"
    ]
    assert texts("ALTER TABLE hr.pay ADD x int REFERENCES hr.line") == [
        "ALTER TABLE audit.pay ADD x int REFERENCES bk.line"
    ]
    assert texts("ALTER TABLE hr.line ADD x int") == texts("ALTER TABLE oe.t ADD x int") == texts("CREATE ROLE r") == []
    assert texts("DROP TABLE hr.line, hr.pay") == ["DROP TABLE audit.pay"]


def test_a_channel_has_a_target_beside_the_one_of_the_file() -> None:
    maps = [{"source": "hr.*", "target": "bk.*"}, {"source": "hr.pay", "target": "audit.pay"}]
    channel = Channel.model_validate(
        {
            "channel": "c",
            "source": {"location": "postgresql://h/s", "tables": ["hr.*"]},
            "targets": [{"name": "site", "location": "postgresql://h/t", "replicat": {"maps": maps}}],
            "column_properties": [{"tables": ["pay"], "targets": ["site"], "columns": ["a"], "absent": True}],
        }
    )
    assert [one.name for one in channel.targets] == ["site", "site.2"]
    pay, line = TableName("hr", "pay"), TableName("hr", "line")
    assert [str(channel.at("site.2").target_name(name)) for name in (pay, line)] == ["audit.pay", "hr.line"]
    assert [channel.holder(name) for name in ("site", "site.2")] == ["c", "c@site.2"]
    assert channel.at("site.2").settings(pay).names.columns == channel.at("site").settings(pay).names.columns != ()


@pytest.mark.parametrize(
    ("pairs", "statement", "expected"),
    [
        (["hr.a -> b.a1", "hr.a -> b.a2", "hr.c -> b.c1", "hr.c -> b.c2"], "a c", ["b.a1 c1", "b.a2 c2"]),
        (["hr.* -> bk.*", "hr.* -> audit.cp_*"], "a c", ["bk.a c", "audit.cp_a cp_c"]),
        (["hr.* -> bk.*", "hr.a -> audit.a"], "a c", ["bk.a c"]),
        (["hr.a -> audit.a", "hr.* -> bk.*"], "a c", ["bk.a c"]),
        (["hr.* -> bk.*", "hr.c -> audit.c"], "a c", ["bk.a c", "audit.a c"]),
        (["hr.c -> bk.c", "hr.c -> audit.c"], "a c", ["bk.a c", "audit.a c"]),
        (["hr.a -> bk.a", "hr.a -> audit.a"], "a c", ["hr.a c"]),
    ],
)
def test_a_rename_has_a_text_of_its_own_for_each_target(pairs: list[str], statement: str, expected: list[str]) -> None:
    old, new = statement.split()
    found = replicate_each(Record(f"ALTER TABLE hr.{old} RENAME TO {new}"), replicat(*pairs))
    texts = [f"ALTER TABLE {one.replace(' ', ' RENAME TO ')}" for one in expected]
    assert [one.record.text for one in found] == texts


def test_explain_says_where_a_renamed_table_was_not_before() -> None:
    _, found = replicate_each(
        Record("ALTER TABLE hr.a RENAME TO c"), replicat("hr.* -> bk.*", "hr.c -> audit.c", "hr.x -> audit.x")
    )
    assert [step.why for step in found.steps if step.stage == "map derived name"] == [
        "hr.a is audit.a: no MAP of this TARGET lists it; a channel's target that lacks the table loads it instead"
    ]


@pytest.mark.parametrize("map_derived", [True, False])
def test_an_index_of_postgres_is_dropped_where_its_table_lies(map_derived: bool) -> None:
    parameters = replicat("hr.* -> bk.bak_*", "hr.a -> audit.a", map_derived=map_derived)
    found = replicate_each(Record("DROP INDEX hr.i", known_base=TableName("hr", "a")), parameters)
    name = "bak_i" if map_derived else "i"
    assert [one.record.text for one in found] == [f"DROP INDEX bk.{name}", f"DROP INDEX audit.{name}"]
