"""What Replicat makes of DDL statements of the trail, stage by stage."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from airflow_ddlrepl.goldengate.ddl_errors import Handling
from airflow_ddlrepl.goldengate.parameters.clauses import DdlScope
from airflow_ddlrepl.goldengate.parameters.replicat import ReplicatParameters
from airflow_ddlrepl.goldengate.record import Outcome
from airflow_ddlrepl.goldengate.replicat import answered
from tests.goldengate.evaluating import all_at_replicat, at_extract, at_replicat, why

IN_ORDER = [
    "read from trail", "separate comments", "remove comments before", "qualify", "check maps", "map base name",
    "map derived name", "filter", "substitute", "remove comments after", "execute", "check for an error",
    "find DDLERROR rule", "handle",
]  # fmt: skip
ADD = "ALTER TABLE hr.t ADD x int"
COMMENTED = "ALTER TABLE hr.t ADD x int /* keep the logfile */"
HR = [{"source": "hr.*", "target": "hrb.*"}]


def to(source: str, *targets: str) -> list[dict[str, str]]:
    return [{"source": source, "target": target} for target in targets]


def text(statement: str, **parameters: Any) -> str:
    return at_replicat(statement, **parameters).record.text


@pytest.mark.req("GG-R-39")
def test_each_step_of_a_statement_can_be_seen() -> None:
    parameters = ReplicatParameters.model_validate({"maps": HR, "errors": [{"error": "42P07", "action": "ignore"}]})
    found, _ = answered(at_replicat(ADD, maps=HR), "42P07", 1, parameters)
    assert [(step.number, step.stage) for step in found.steps] == list(enumerate(IN_ORDER, 1))
    assert {step.stage: step.text for step in found.steps}["map base name"] == "ALTER TABLE hrb.t ADD x int"


@pytest.mark.req("GG-R-02")
def test_comments_and_command_are_held_apart() -> None:
    record = at_replicat(COMMENTED, maps=HR).record
    assert (record.command, record.comments) == ("ALTER TABLE hrb.t ADD x int", ("keep the logfile",))
    assert record.text == "ALTER TABLE hrb.t ADD x int /* keep the logfile */"


@pytest.mark.req("GG-R-03", "GG-R-22")
@pytest.mark.parametrize(("when", "places"), [("before", 0), ("after", 1)])
def test_when_comments_are_removed(when: str, places: int) -> None:
    found = at_replicat(COMMENTED, remove_comments=[when], substitutions=[{"search": "logfile", "replacement": "file"}])
    assert (found.record.text, why(found, "substitute")) == (ADD, f"1 evaluated, 1 true, {places} places replaced")


@pytest.mark.req("GG-R-04")
@pytest.mark.parametrize("removed", [[], ["before"]])
def test_filters_find_comments_that_are_removed(removed: list[str]) -> None:
    for word, outcome in (("keep", Outcome.RUNS), ("lose", Outcome.DISCARDED)):
        ddl = {"include": [{"instr_comments": word}]}
        assert at_replicat(COMMENTED, remove_comments=removed, ddl=ddl).outcome is outcome
        assert at_extract(COMMENTED, remove_comments=removed, ddl=ddl).outcome is not (
            Outcome.WRITTEN if outcome is Outcome.DISCARDED else Outcome.DISCARDED
        )


@pytest.mark.req("GG-R-05", "GG-R-38")
def test_what_can_not_be_mapped_is_other_and_keeps_its_names() -> None:
    record = at_replicat("CREATE ROLE r", maps=[{"source": "*.*", "target": "x.*"}]).record
    assert (record.scope, record.text, record.session_schema) == (DdlScope.OTHER, "CREATE ROLE r", "")


@pytest.mark.req("GG-R-06", "GG-R-07")
def test_a_map_makes_a_statement_mapped() -> None:
    maps = [{"source": "hr.tab*", "target": "bk.*"}]
    assert at_replicat("DROP TABLE hr.tab1", maps=maps).record.scope is DdlScope.MAPPED
    assert at_replicat("ALTER TABLE oe.t ADD x int", maps=maps).record.scope is DdlScope.UNMAPPED
    assert at_replicat("DROP TABLE hr.tab1", maps=maps, exclude=["hr.tab1"]).record.scope is DdlScope.UNMAPPED


@pytest.mark.req("GG-R-08")
def test_scopes_of_both_sides_are_independent() -> None:
    scopes = []
    for name in "ab":
        statement = f"DROP TABLE hr.{name}"
        at_source = at_extract(statement, tables=["hr.a"])
        at_target = at_replicat(at_source.record.text, maps=to("hr.b", "bk.b"))
        scopes.append((at_source.record.scope, at_target.record.scope))
    assert scopes == [(DdlScope.MAPPED, DdlScope.UNMAPPED), (DdlScope.UNMAPPED, DdlScope.MAPPED)]


@pytest.mark.req("GG-R-09")
def test_the_base_name_is_replaced() -> None:
    found = text("ALTER TABLE fin.expen ADD notes varchar(100)", maps=to("fin.expen", "fin2.expen2"))
    assert found == "ALTER TABLE fin2.expen2 ADD notes varchar(100)"


@pytest.mark.req("GG-R-10")
@pytest.mark.parametrize(
    ("source", "target", "name", "expected"),
    [
        ("hr.tab*", "bk.*", "tabpay", "bk.tabpay"),
        ("hr.tab*", "bk.bak_*", "tabPayables", "bk.bak_tabpayables"),
        ("hr.tab*", "bk.bak_*", '"tabPayables"', 'bk."bak_tabPayables"'),
        ("hr.t_*", "rpt.t_*", "t_test1", "rpt.t_t_test1"),
        ("hr.*", "bk.*", "t", "bk.t"),
        ("h*.*", "b*x.*", "t", "bhrx.t"),
        ("hr.t?", "rpt.*", "t1", "rpt.t1"),
        ("hr.t*s*", "rpt.*_old", "tabs1", "rpt.tabs1_old"),
        ("hr.pay", "rpt.*_old", "pay", "rpt.pay_old"),
        ("hr.pay", "*.*", "pay", "hr.pay"),
        ("hr.*", "bk.all_in_one", "t", "bk.all_in_one"),
        ("hr.t?b", 'bk."T b"', "tab", 'bk."T b"'),
    ],
)
def test_a_wildcard_of_the_target_is_the_whole_name_at_the_source(
    source: str, target: str, name: str, expected: str
) -> None:
    assert text(f"DROP TABLE hr.{name}", maps=to(source, target)) == f"DROP TABLE {expected}"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            "CREATE TABLE hr.c (id int REFERENCES hr.p (id), n text DEFAULT 'hr.p', c int /* hr.p */)",
            "CREATE TABLE hrb.c (id int REFERENCES hrb.p (id), n text DEFAULT 'hr.p', c int /* hr.p */)",
        ),
        (
            "CREATE TABLE hr.c PARTITION OF hr.p FOR VALUES FROM (1) TO (2)",
            "CREATE TABLE hrb.c PARTITION OF hrb.p FOR VALUES FROM (1) TO (2)",
        ),
        (
            "CREATE TABLE hr.c (LIKE hr.p) INHERITS (hr.a, oe.b)",
            "CREATE TABLE hrb.c (LIKE hrb.p) INHERITS (hrb.a, oe.b)",
        ),
        (
            "CREATE TABLE hr.c AS SELECT extract(year FROM d), hr.f(x) FROM hr.a x, hr.b JOIN hr.e USING (i)",
            "CREATE TABLE hrb.c AS SELECT extract(year FROM d), hr.f(x) FROM hrb.a x, hrb.b JOIN hrb.e USING (i)",
        ),
        ("ALTER TABLE hr.p ATTACH PARTITION hr.c DEFAULT", "ALTER TABLE hrb.p ATTACH PARTITION hrb.c DEFAULT"),
        ("ALTER TABLE hr.hr ADD CHECK (hr LIKE 'hr')", "ALTER TABLE hrb.hr ADD CHECK (hr LIKE 'hr')"),
        ('ALTER TABLE "hr" . "t" ADD "hr.t" int', 'ALTER TABLE hrb.t ADD "hr.t" int'),
        ("COMMENT ON COLUMN hr.t.hr IS 'hr.t.hr'", "COMMENT ON COLUMN hrb.t.hr IS 'hr.t.hr'"),
        ("GRANT SELECT ON hr.t TO hr", "GRANT SELECT ON hrb.t TO hr"),
        ("ALTER TABLE hr.a RENAME TO b", "ALTER TABLE hrb.a RENAME TO b"),
        (
            "CREATE TRIGGER tr AFTER INSERT ON hr.t EXECUTE FUNCTION hr.f()",
            "CREATE TRIGGER tr AFTER INSERT ON hrb.t EXECUTE FUNCTION hr.f()",
        ),
        ("DROP INDEX hr.ix", "DROP INDEX hr.ix"),
    ],
)
def test_names_change_where_they_name_a_mapped_table_and_nowhere_else(statement: str, expected: str) -> None:
    assert text(statement, maps=HR) == expected


@pytest.mark.req("GG-R-11", "GG-R-12", "GG-R-14")
@pytest.mark.parametrize(("map_derived", "expected"), [(None, "hrb"), (True, "hrb"), (False, "hr")])
def test_mapderived_maps_the_name_of_an_index(map_derived: bool | None, expected: str) -> None:
    parameters = {} if map_derived is None else {"map_derived": map_derived}
    statement = "CREATE INDEX hr.ix ON hr.pay(d)"
    assert text(statement, dialect="mysql", maps=HR, **parameters) == f"CREATE INDEX {expected}.ix ON hrb.pay(d)"
    assert text(statement, maps=HR) == "CREATE INDEX ix ON hrb.pay(d)"  # PostgreSQL has it in the schema of its table


@pytest.mark.req("GG-R-13")
@pytest.mark.parametrize(
    ("mapped", "derived", "table"),
    [
        (("ix", "pay"), "x.ix2", "y.pay2"),
        (("pay",), "y.ix", "y.pay2"),
        (("ix",), "hr.ix", "hr.pay"),
        ((), "hr.ix", "hr.pay"),
    ],
)
def test_the_four_cells_of_mapderived(mapped: tuple[str, ...], derived: str, table: str) -> None:
    both = {"ix": ("hr.ix", "x.ix2"), "pay": ("hr.pay", "y.pay2")}
    maps = [{"source": both[one][0], "target": both[one][1]} for one in mapped]
    statement = "CREATE INDEX hr.ix ON hr.pay(d)"
    assert text(statement, dialect="mysql", maps=maps) == f"CREATE INDEX {derived} ON {table}(d)"
    assert text(statement, dialect="mysql", maps=maps, map_derived=False) == f"CREATE INDEX hr.ix ON {table}(d)"


@pytest.mark.req("GG-R-15", "GG-R-16")
def test_filters_see_the_names_of_the_target() -> None:
    def outcome(**clause: str) -> Outcome:
        return at_replicat(ADD, maps=to("hr.t", "bk.t"), ddl={"include": [clause]}).outcome

    assert outcome(objname="bk.*") is outcome(objname="bk.*", optype="alter") is Outcome.RUNS
    assert outcome(objname="hr.*") is outcome(objname="bk.*", optype="drop") is Outcome.DISCARDED


@pytest.mark.req("GG-R-17", "GG-R-18", "GG-R-19")
def test_what_is_included() -> None:
    ddl = {"include": [{}], "exclude": [{"optype": "drop"}]}
    ended = at_replicat("DROP TABLE hr.t", ddl=ddl)
    assert (ended.outcome, ended.steps[-1].stage) == (Outcome.DISCARDED, "filter")
    assert at_replicat(ADD, ddl=ddl).outcome is Outcome.RUNS
    assert at_replicat("CREATE ROLE r").outcome is at_replicat("CREATE ROLE r", ddl={}).outcome is Outcome.RUNS


@pytest.mark.req("GG-R-20", "GG-R-21")
def test_substitutions_of_the_target_leave_the_trail_as_it_is() -> None:
    entries = [
        {"search": "x int", "replacement": "y int"},
        {"search": "y int", "replacement": "z int"},
        {"search": "hrb", "replacement": "no", "include": [{"optype": "drop"}]},
    ]
    found = at_replicat(ADD, maps=HR, substitutions=entries)
    assert (found.record.raw, found.record.text) == (ADD, "ALTER TABLE hrb.t ADD z int")
    assert why(found, "substitute") == "3 evaluated, 2 true, 2 places replaced"


@pytest.mark.req("GG-R-35")
def test_several_targets_of_one_source_are_evaluated_each() -> None:
    maps = to("hr.t", "a.t", "b.t") + to("hr.*", "a.*")
    ddl = {"include": [{}], "exclude": [{"objname": "b.*"}]}
    found = all_at_replicat(ADD, maps=maps, ddl=ddl)
    assert [(one.record.text, one.outcome) for one in found] == [
        ("ALTER TABLE a.t ADD x int", Outcome.RUNS),
        ("ALTER TABLE b.t ADD x int", Outcome.DISCARDED),
    ]


@pytest.mark.parametrize(
    ("source", "target", "problem"),
    [
        ("hr.*", "bk.*_*", "only one \\* is allowed"),
        ("hr.t", "bk.t?", "only one \\* is allowed"),
        ("t", "bk.t", "both of the form schema.name"),
    ],
)
def test_a_target_with_other_wildcards_is_refused(source: str, target: str, problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        ReplicatParameters.model_validate({"maps": to(source, target)})


def handled(
    code: str | None, tries: int = 1, *rules: dict[str, Any], statement: str = ADD
) -> tuple[Handling, str, int]:
    parameters = ReplicatParameters.model_validate({"errors": rules})
    _, found = answered(at_replicat(statement), code, tries, parameters)
    return found.handling, found.why, found.delay


IGNORE, ABEND = {"error": "42P07", "action": "ignore"}, {"error": "42P07", "action": "abend"}


def test_the_rule_for_an_error() -> None:
    """Codes go before DEFAULT, the first of a code whose clauses are true counts, and none of them is ABEND."""
    default = {"error": "default", "action": "discard"}
    only_oe = {**ABEND, "include": [{"objname": "oe.*"}]}
    assert handled(None)[0] is Handling.DONE
    assert handled("42P07", 1, default, IGNORE, ABEND)[0] is Handling.IGNORE
    assert handled("42P07", 1, only_oe, IGNORE)[0] is Handling.IGNORE
    assert handled("42P07", 1, only_oe, IGNORE, statement="DROP TABLE oe.t")[0] is Handling.ABEND
    assert handled("42703", 1, IGNORE, default)[0] is Handling.DISCARD
    assert handled("42703", 1, IGNORE)[:2] == (
        Handling.ABEND,
        "no rule of DDLERROR has 42703, and there is no DEFAULT: ABEND",
    )


def test_a_rule_may_try_again_first() -> None:
    rule = {**IGNORE, "max_retries": 2, "retry_delay": "5s"}
    assert [handled("42P07", tries, rule)[::2] for tries in (1, 2, 3)] == [
        (Handling.RETRY, 5),
        (Handling.RETRY, 5),
        (Handling.IGNORE, 0),
    ]


def test_each_table_of_a_list_gets_its_name() -> None:
    found = at_replicat("TRUNCATE hr.pay, ONLY hr.line, oe.t", maps=to("hr.*", "bk.bak_*"))
    assert found.record.text == "TRUNCATE bk.bak_pay, ONLY bk.bak_line, oe.t"
