"""What Extract decides about DDL statements, stage by stage."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from airflow_ddlrepl.goldengate.extract import STAGES
from airflow_ddlrepl.goldengate.parameters.clauses import DdlScope, Filters
from airflow_ddlrepl.goldengate.record import Outcome
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.sql.comments import split_comments
from airflow_ddlrepl.sql.dialect import Dialect
from airflow_ddlrepl.sql.operation import is_mappable
from tests.goldengate.evaluating import all_at_extract, at_extract, why

IN_ORDER = [
    "capture", "separate comments", "find DDL parameter", "ignore replicates", "detect rename", "get names",
    "rewrite rename", "remove comments before", "determine scope", "filter", "substitute", "remove comments after",
    "add trandata", "write to trail",
]  # fmt: skip
ADD = "ALTER TABLE hr.tab1 ADD x int"
COMMENTED = "ALTER TABLE hr.t ADD x int /* keep the logfile */"


def is_included(text: str, **parameters: Any) -> bool:
    return at_extract(text, **parameters).outcome is Outcome.WRITTEN


def by_clause(text: str, **clause: Any) -> bool:
    """Does an INCLUDE clause alone, with TABLE hr.*, include the statement?"""
    return is_included(text, tables=["hr.*"], ddl={"include": [clause]})


def test_the_stages_come_in_the_order_of_the_description() -> None:
    assert [stage.name for stage in STAGES] == IN_ORDER
    steps = at_extract(ADD).steps
    assert [(step.number, step.stage) for step in steps] == list(enumerate(IN_ORDER, 1))


@pytest.mark.req("GG-E-02")
def test_comments_and_command_are_held_apart() -> None:
    record = at_extract("/* a */ CREATE TABLE t(x int) -- b").record
    assert (record.command, record.comments) == ("CREATE TABLE t(x int)", ("a", "b"))


@pytest.mark.req("GG-E-03")
@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("CREATE TABLE t(x text DEFAULT '--no')", "postgres"),
        ('CREATE TABLE "/* no */"(x int)', "postgres"),
        ("CREATE FUNCTION f() RETURNS int AS $b$ SELECT 1 -- no $b$ LANGUAGE sql", "postgres"),
        (r"CREATE TABLE t(x text DEFAULT E'\' -- no')", "postgres"),
        ("CREATE TABLE `a--b` (x int)", "mysql"),
        (r"CREATE TABLE t (x text DEFAULT '\' # no')", "mysql"),
        ("CREATE TABLE t (x varchar2(9) DEFAULT q'[it's /* no */]')", "oracle"),
        ("CREATE TABLE t (x int) /*!50100 PARTITION BY KEY(x) */", "mysql"),
    ],
)
def test_comment_marks_elsewhere_begin_no_comment(text: str, dialect: str) -> None:
    assert split_comments(text, Dialect(dialect)) == (text, ())


@pytest.mark.parametrize(
    ("text", "dialect", "expected"),
    [
        ("DROP/* a /* b */ c */TABLE t", "postgres", ("DROP TABLE t", ("a /* b */ c",))),
        ("DROP TABLE t # one\n-- two", "mysql", ("DROP TABLE t", ("one", "two"))),
        ("DROP TABLE a--b", "mysql", ("DROP TABLE a--b", ())),
        ("DROP TABLE t /* not closed", "postgres", ("DROP TABLE t", ("not closed",))),
    ],
)
def test_comments_of_dialects(text: str, dialect: str, expected: tuple[str, tuple[str, ...]]) -> None:
    assert split_comments(text, Dialect(dialect)) == expected


@pytest.mark.req("GG-E-04")
def test_the_ddl_parameter_is_what_later_stages_use() -> None:
    found = at_extract(ADD, tables=["hr.*"], ddl={"include": [{"optype": "drop"}]})
    assert why(found, "find DDL parameter") == "1 INCLUDE, 0 EXCLUDE"
    assert (found.outcome, found.why) == (Outcome.DISCARDED, "no include clause is true")


@pytest.mark.req("GG-E-07", "GG-E-08", "GG-E-09")
def test_ignore_replicates_comes_before_all_else() -> None:
    rest: dict[str, Any] = {"tables": ["hr.*"], "ddl": {"include": [{}], "exclude": [{"optype": "alter"}]}}
    substitutions = [{"search": "x", "replacement": "y"}]
    own = at_extract(ADD, is_replicated=True, substitutions=substitutions, **rest)
    assert (own.outcome, len(own.steps)) == (Outcome.DISCARDED, 4)
    assert own.why.startswith("ignorereplicates: ")
    assert len(at_extract(ADD, is_replicated=False, **rest).steps) == 10
    assert at_extract(ADD, is_replicated=True, ignore_replicates=False).outcome is Outcome.WRITTEN


@pytest.mark.req("GG-E-16")
def test_comments_are_removed_before_scope_and_filters() -> None:
    found = at_extract(COMMENTED, remove_comments=["before"])
    assert {step.text for step in found.steps[7:]} == {"ALTER TABLE hr.t ADD x int"}


@pytest.mark.req("GG-E-17")
@pytest.mark.parametrize("removed", [[], ["before"]])
@pytest.mark.parametrize(("word", "expected"), [("keep", True), ("lose", False)])
def test_filters_find_comments_that_are_removed(removed: list[str], word: str, expected: bool) -> None:
    ddl = {"include": [{"instr_comments": word}]}
    assert is_included(COMMENTED, ddl=ddl, remove_comments=removed) is expected
    assert not is_included(COMMENTED, ddl={"include": [{"instr": word}]}, remove_comments=removed)


@pytest.mark.req("GG-E-18")
def test_instr_searches_the_command_and_instrcomments_the_comments() -> None:
    assert (by_clause(COMMENTED, instr="logfile"), by_clause(COMMENTED, instr_comments="logfile")) == (False, True)
    assert (by_clause(COMMENTED, instr="add X"), by_clause(COMMENTED, instr_comments="add X")) == (True, False)


@pytest.mark.req("GG-E-19")
def test_comments_stay_when_nothing_removes_them() -> None:
    assert at_extract(COMMENTED).record.text == COMMENTED


@pytest.mark.req("GG-E-20")
def test_what_can_be_mapped_and_is_listed_is_mapped() -> None:
    assert at_extract(ADD, tables=["hr.t*"]).record.scope is DdlScope.MAPPED
    assert at_extract(ADD, tables=["hr.t*"], exclude=["hr.tab?"]).record.scope is DdlScope.UNMAPPED


@pytest.mark.req("GG-E-21", "GG-E-22")
def test_either_name_of_a_rename_lists_it_and_a_derived_name_alone_does_not() -> None:
    for listed in ("hr.a", "hr.b"):
        assert at_extract("ALTER TABLE hr.a RENAME TO b", tables=[listed]).record.scope is DdlScope.MAPPED
    assert at_extract("CREATE INDEX ix ON hr.other(c)", tables=["hr.ix"]).record.scope is DdlScope.UNMAPPED


CELLS = [
    (ADD, "hr.*"),
    (ADD, "oe.*"),
    ("CREATE TYPE hr.mood AS ENUM ('a')", "oe.*"),
    ("CREATE TYPE hr.mood AS ENUM ('a')", "hr.*"),
]


@pytest.mark.req("GG-E-23", "GG-E-24", "GG-E-25")
@pytest.mark.parametrize(
    ("semantics", "scopes"),
    [("consistent", ["MAPPED", "UNMAPPED", "OTHER", "OTHER"]), ("literal", ["MAPPED", "OTHER", "UNMAPPED", "OTHER"])],
)
def test_both_readings_of_the_scopes(semantics: str, scopes: list[str]) -> None:
    found = [at_extract(text, tables=[table], scope_semantics=semantics).record.scope for text, table in CELLS]
    assert found == scopes


@pytest.mark.req("GG-E-26")
def test_which_operations_can_be_mapped() -> None:
    objects = [
        "TABLE",
        "INDEX",
        "TRIGGER",
        "SEQUENCE",
        "VIEW",
        "MATERIALIZED VIEW",
        "FUNCTION",
        "PACKAGE",
        "PROCEDURE",
        "SYNONYM",
    ]
    for operation in ("CREATE", "ALTER", "DROP", "RENAME", "COMMENT"):
        assert [is_mappable(operation, one) for one in objects] == [True] * len(objects)
    for operation in ("GRANT", "REVOKE"):
        assert [one for one in objects if is_mappable(operation, one)] == ["TABLE", "SEQUENCE", "MATERIALIZED VIEW"]
    assert [one for one in ("TABLE", "INDEX", "CLUSTER", "VIEW") if is_mappable("ANALYZE", one)] == [
        "TABLE",
        "INDEX",
        "CLUSTER",
    ]
    for text in ("CREATE USER u", "CREATE ROLE r", "CREATE TABLESPACE s LOCATION ''", "ALTER SYSTEM SET x = 1"):
        assert at_extract(text, tables=["*.*"]).record.scope is DdlScope.OTHER


@pytest.mark.req("GG-E-27", "GG-E-29")
def test_all_options_of_a_clause_have_to_be_true() -> None:
    clause = {"scope": "MAPPED", "optype": "CREATE", "objname": "hr.*"}
    assert not by_clause("ALTER TABLE hr.t ADD x int", **clause)
    assert not by_clause("CREATE TABLE oe.t (x int)", **clause)
    assert by_clause("CREATE TABLE hr.t (x int)", **clause)


@pytest.mark.req("GG-E-28", "GG-E-47")
def test_an_exclude_that_is_true_ends_the_evaluation() -> None:
    rest: dict[str, Any] = {"substitutions": [{"search": "x", "replacement": "y"}], "add_trandata": True}
    ddl = {"include": [{}], "exclude": [{"objname": "hr.tmp*"}]}
    found = at_extract("CREATE TABLE hr.tmp1 (x int)", ddl=ddl, **rest)
    assert (found.outcome, found.steps[-1].stage, found.record.trandata) == (Outcome.DISCARDED, "filter", None)
    other = at_extract("CREATE TABLE hr.t (x int)", ddl=ddl, **rest)
    assert (other.steps[0].stage, other.outcome, other.record.trandata) == (
        "capture",
        Outcome.WRITTEN,
        TableName("hr", "t"),
    )
    assert [step.stage for step in other.steps[-2:]] == ["add trandata", "write to trail"]


@pytest.mark.req("GG-E-30")
def test_a_ddl_parameter_without_clauses_includes_everything() -> None:
    assert all(is_included(text) for text in (ADD, "CREATE ROLE r", "DROP TABLE oe.t", "VACUUM"))


@pytest.mark.req("GG-E-31")
@pytest.mark.parametrize("keys", [("include", "exclude"), ("exclude", "include")])
def test_exclude_beats_include(keys: tuple[str, str]) -> None:
    clauses = {"include": [{}], "exclude": [{"objname": "hr.tmp"}]}
    ddl = {key: clauses[key] for key in keys}
    assert (is_included("DROP TABLE hr.tmp", ddl=ddl), is_included("DROP TABLE hr.t", ddl=ddl)) == (False, True)


@pytest.mark.req("GG-E-32")
def test_what_no_include_is_true_for_is_not_included() -> None:
    found = at_extract("ALTER TABLE oe.t ADD x int", ddl={"include": [{"objname": "hr.*"}]})
    assert (found.outcome, found.why) == (Outcome.DISCARDED, "no include clause is true")


@pytest.mark.req("GG-E-33")
def test_exclude_clauses_alone_are_refused_but_for_exclude_all() -> None:
    with pytest.raises(ValidationError, match="EXCLUDE clauses only: add INCLUDE ALL"):
        Filters.model_validate({"exclude": [{"objname": "hr.*"}]})
    assert not is_included(ADD, ddl={"exclude": [{"stay_metadata": False}]})


@pytest.mark.req("GG-E-34")
@pytest.mark.parametrize(
    ("clause", "yes", "no"),
    [
        ({"scope": "mapped"}, ADD, "ALTER TABLE oe.t ADD x int"),
        ({"scope": "UNMAPPED"}, "ALTER TABLE oe.t ADD x int", ADD),
        ({"scope": "OTHER"}, "CREATE ROLE r", ADD),
        ({"optype": "alter"}, ADD, "DROP TABLE hr.t"),
        ({"optype": "RENAME"}, "ALTER TABLE hr.a RENAME TO b", ADD),
        ({"objtype": "index"}, "CREATE INDEX ix ON hr.t (a)", ADD),
        ({"objtype": "materialized  view"}, "DROP MATERIALIZED VIEW hr.v", "DROP VIEW hr.v"),
        ({"objname": "hr.tab?"}, ADD, "ALTER TABLE hr.tab12 ADD x int"),
        ({"objname": '"tab1"'}, ADD, 'ALTER TABLE hr."Tab1" ADD x int'),
        ({"instr": "X INT"}, ADD, "DROP TABLE hr.t"),
        ({"instr_words": ["table", "x"]}, ADD, "ALTER TABLE hr.t ADD xy int"),
        ({"instr_comments": "LOGFILE"}, COMMENTED, ADD),
        ({"instr_comments_words": ["logfile", "keep"]}, COMMENTED, "DROP TABLE hr.t -- keep"),
    ],
)
def test_each_option_of_a_clause(clause: dict[str, Any], yes: str, no: str) -> None:
    assert (by_clause(yes, **clause), by_clause(no, **clause)) == (True, False)


@pytest.mark.req("GG-E-35")
def test_a_substitution_has_criteria_of_its_own() -> None:
    one = {"search": "CUST", "replacement": r"customers\1", "include": [{"objname": "fin.*"}]}
    assert at_extract("DROP TABLE fin.cust", substitutions=[one]).record.text == r"DROP TABLE fin.customers\1"
    assert at_extract("DROP TABLE sales.cust", substitutions=[one]).record.text == "DROP TABLE sales.cust"


@pytest.mark.req("GG-E-36")
def test_every_substitution_is_evaluated() -> None:
    entries = [
        {"search": "x", "replacement": "y"},
        {"search": "int", "replacement": "n", "include": [{"optype": "drop"}]},
        {"search": "tab1", "replacement": "tab2"},
    ]
    assert why(at_extract(ADD, substitutions=entries), "substitute") == "3 evaluated, 2 true, 2 places replaced"


@pytest.mark.req("GG-E-37")
@pytest.mark.parametrize(("order", "expected"), [(["ab", "bc"], "c"), (["bc", "ab"], "b")])
def test_substitutions_come_in_the_order_of_the_file(order: list[str], expected: str) -> None:
    entries = [{"search": f"-{one[0]}-", "replacement": f"-{one[1]}-"} for one in order]
    text = "COMMENT ON TABLE t IS '-{}-'"
    assert at_extract(text.format("a"), substitutions=entries).record.text == text.format(expected)


@pytest.mark.req("GG-E-38")
def test_criteria_are_decided_before_anything_is_substituted() -> None:
    entries = [
        {"search": "-a-", "replacement": "-b-"},
        {"search": "-x-", "replacement": "-y-", "include": [{"instr": "-b-"}]},
    ]
    found = at_extract("COMMENT ON TABLE t IS '-a- -x-'", substitutions=entries)
    assert found.record.text == "COMMENT ON TABLE t IS '-b- -x-'"


@pytest.mark.req("GG-E-39")
def test_a_substitution_that_is_false_leaves_the_statement() -> None:
    entry = {"search": "x", "replacement": "y", "exclude": [{"objname": "hr.*"}]}
    found = at_extract(ADD, substitutions=[entry])
    assert (found.outcome, found.record.text) == (Outcome.WRITTEN, ADD)


@pytest.mark.req("GG-E-40")
def test_the_filter_sees_the_text_before_substitutions() -> None:
    found = at_extract(ADD, substitutions=[{"search": "x", "replacement": "zzz"}], ddl={"include": [{"instr": "zzz"}]})
    assert found.outcome is Outcome.DISCARDED


@pytest.mark.req("GG-E-41", "GG-E-42")
@pytest.mark.parametrize(("when", "places"), [("after", 1), ("before", 0)])
def test_what_substitutions_do_to_comments(when: str, places: int) -> None:
    found = at_extract(
        COMMENTED,
        substitutions=[{"search": "logfile", "replacement": "file"}],
        ddl={"include": [{"instr_comments": "logfile"}]},
        remove_comments=[when],
    )
    assert why(found, "substitute").endswith(f" {places} places replaced")
    assert found.record.text == "ALTER TABLE hr.t ADD x int"


@pytest.mark.req("GG-E-43")
def test_before_and_after_together_are_as_before() -> None:
    entry = {"search": "logfile", "replacement": "file"}
    both, before = (
        at_extract(COMMENTED, substitutions=[entry], remove_comments=when) for when in (["before", "after"], ["before"])
    )
    assert both.record.text == before.record.text
    assert why(both, "substitute") == why(before, "substitute")


@pytest.mark.req("GG-E-45")
@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("CREATE TABLE hr.n (id int)", "hr.n"),
        ("CREATE TABLE x AS SELECT 1", "public.x"),
        ("CREATE TABLE IF NOT EXISTS hr.n (LIKE hr.t)", "hr.n"),
        ("CREATE UNLOGGED TABLE hr.n PARTITION OF hr.t DEFAULT", "hr.n"),
        ("ALTER TABLE hr.n ADD x int", None),
        ("DROP TABLE hr.n", None),
        ("CREATE INDEX ix ON hr.n (id)", None),
    ],
)
def test_add_trandata_is_for_create_table(text: str, table: str | None) -> None:
    found = at_extract(text, add_trandata=True).record
    assert (found.trandata and str(found.trandata)) == table
    assert at_extract(text).record.trandata is None
    if table:
        assert (found.operation, found.object_type) == ("CREATE", "TABLE")


def test_the_whole_way_of_one_statement() -> None:
    (found,) = all_at_extract(
        "RENAME TABLE hr.a TO hr.arch_old /* keep logfile */",
        dialect="mysql",
        tables=["hr.a"],
        ddl={"include": [{"scope": "MAPPED", "instr_comments": "keep"}]},
        substitutions=[{"search": "arch_old", "replacement": "arch_new"}],
        remove_comments=["before"],
    )
    assert (found.record.text, found.record.scope) == ("ALTER TABLE hr.a RENAME TO arch_new", DdlScope.MAPPED)


@pytest.mark.parametrize("text", ["", "   ", "-- nothing", "%%% \x00 '", "ALTER", "x" * 1_000_000])
def test_what_no_parser_reads_has_no_names_and_is_other(text: str) -> None:
    found = at_extract(text, tables=["*.*"])
    assert (found.record.base, found.record.scope) == (None, DdlScope.OTHER)
