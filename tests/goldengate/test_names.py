"""What Extract reads of a statement: whether it is a rename, the base object and the derived one."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.goldengate.extract import extract
from airflow_ddlrepl.goldengate.parameters.clauses import DdlScope
from airflow_ddlrepl.goldengate.parameters.extract import ExtractParameters
from airflow_ddlrepl.goldengate.record import Record
from airflow_ddlrepl.model.names import TableName
from tests.goldengate.evaluating import all_at_extract, at_extract

ADD = "ALTER TABLE hr.tab1 ADD x int"


@pytest.mark.req("GG-E-10")
@pytest.mark.parametrize(
    ("text", "dialect", "expected"),
    [
        ("RENAME TABLE a TO b", "mysql", True),
        ("RENAME a TO b", "oracle", True),
        ("ALTER TABLE a RENAME TO b", "postgres", True),
        ("ALTER TABLE IF EXISTS ONLY a RENAME TO b", "postgres", True),
        ("ALTER TABLE a RENAME COLUMN x TO y", "postgres", False),
        ("ALTER TABLE a RENAME x TO y", "postgres", False),
        ("ALTER TABLE a RENAME CONSTRAINT x TO y", "postgres", False),
    ],
)
def test_a_rename_is_of_a_table(text: str, dialect: str, expected: bool) -> None:
    assert at_extract(text, dialect=dialect).record.is_rename is expected


@pytest.mark.req("GG-E-11", "GG-E-12")
@pytest.mark.parametrize(
    ("text", "base", "derived"),
    [
        ("CREATE INDEX hr.ix ON hr.payroll(d)", "hr.payroll", "hr.ix"),
        ("CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS ix ON ONLY hr.payroll USING btree (d)", "hr.payroll", "hr.ix"),
        ("CREATE INDEX ON payroll (d)", "public.payroll", None),
        ("CREATE TRIGGER tr BEFORE UPDATE OF a, b ON hr.t EXECUTE FUNCTION f()", "hr.t", "hr.tr"),
        ("CREATE SYNONYM hr.s FOR fin.t", "fin.t", "hr.s"),
        ("ALTER TABLE hr.a RENAME TO b", "hr.b", "hr.a"),
        ('ALTER TABLE "Hr"."A b" ADD c int', "Hr.A b", None),
        ("COMMENT ON COLUMN hr.t.c IS 'x'", "hr.t", None),
        ("GRANT SELECT (a), UPDATE ON TABLE hr.t TO u", "hr.t", None),
        ("GRANT reader TO u", None, None),
        ("DROP MATERIALIZED VIEW IF EXISTS hr.v CASCADE", "hr.v", None),
        ("CREATE OR REPLACE FUNCTION hr.f(a int, b text) RETURNS int LANGUAGE sql AS 'SELECT 1'", "hr.f", None),
        ("ANALYZE VERBOSE hr.t", "hr.t", None),
        ("TRUNCATE hr.t", "hr.t", None),
        ("ALTER TABLE public.t ADD x int", "public.t", None),
        ("DROP TABLE IF EXISTS public.t", "public.t", None),
        ("DROP INDEX CONCURRENTLY IF EXISTS public.ix", None, "public.ix"),
        ("TRUNCATE public.t", "public.t", None),
        ("ANALYZE public.t", "public.t", None),
        ("COMMENT ON TABLE public.t IS 'x'", "public.t", None),
        ("GRANT SELECT ON public.t TO u", "public.t", None),
        ("CREATE UNLOGGED TABLE IF NOT EXISTS temp.t (a int)", "temp.t", None),
        ("ALTER TABLE temp ADD x int", "public.temp", None),
        ("TRUNCATE local", "public.local", None),
        ("CREATE PUBLIC SYNONYM s FOR public.t", "public.t", "public.s"),
    ],
)
def test_base_and_derived_names(text: str, base: str | None, derived: str | None) -> None:
    record = at_extract(text).record
    names = {which: name and str(name) for which, name in (("base", record.base), ("derived", record.derived))}
    assert names == {"base": base, "derived": derived}


def test_the_catalog_says_the_table_of_an_index_that_a_statement_does_not() -> None:
    record = Record("DROP INDEX hr.ix", known_base=TableName("hr", "t"))
    (found,) = extract(record, ExtractParameters.model_validate({"ddl": {}, "tables": ["hr.t"]}))
    assert (found.record.base, found.record.derived) == (TableName("hr", "t"), TableName("hr", "ix"))
    assert found.record.scope is DdlScope.MAPPED


@pytest.mark.req("GG-E-13", "GG-E-14")
def test_a_rename_is_written_as_alter_table() -> None:
    found = at_extract("RENAME TABLE a.cm TO a.cm3", dialect="mysql")
    assert found.record.text == "ALTER TABLE a.cm RENAME TO cm3"
    assert (found.record.base, found.record.derived) == (TableName("a", "cm3"), TableName("a", "cm"))
    texts = {step.stage: step.text for step in found.steps}
    assert texts["detect rename"] == texts["get names"] == "RENAME TABLE a.cm TO a.cm3" != texts["rewrite rename"]
    assert at_extract(ADD).record.text == ADD


@pytest.mark.req("GG-E-15")
def test_a_rename_of_several_tables_is_one_for_each() -> None:
    found = all_at_extract("RENAME TABLE cm TO cm3, ex TO ex3 -- both", dialect="mysql", tables=["*.ex3"])
    assert [one.record.text for one in found] == [
        "ALTER TABLE cm RENAME TO cm3 -- both",
        "ALTER TABLE ex RENAME TO ex3 -- both",
    ]
    assert [one.record.scope for one in found] == [DdlScope.UNMAPPED, DdlScope.MAPPED]


def test_a_drop_of_several_tables_is_one_for_each() -> None:
    found = all_at_extract("DROP TABLE IF EXISTS hr.a, oe.b /* both */", tables=["hr.*"])
    assert [(one.record.command, one.record.scope) for one in found] == [
        ("DROP TABLE IF EXISTS hr.a", DdlScope.MAPPED),
        ("DROP TABLE IF EXISTS oe.b", DdlScope.UNMAPPED),
    ]
