"""A statement in another dialect: it means exactly the same there, or it is an error for DDLERROR."""

from __future__ import annotations

import pytest
import sqlglot

from airflow_ddlrepl.goldengate.ddl_errors import Handling
from airflow_ddlrepl.goldengate.parameters.replicat import ReplicatParameters
from airflow_ddlrepl.goldengate.record import Evaluation, Outcome, Record
from airflow_ddlrepl.goldengate.replicat import answered, replicate
from airflow_ddlrepl.sql.dialect import Dialect
from airflow_ddlrepl.sql.translation import Untranslatable, translated

MAPS = [{"source": "hr.*", "target": "dw.*"}]


def into_mysql(text: str, parameters: ReplicatParameters) -> Evaluation:
    (found,) = replicate(Record(text, into=Dialect.MYSQL), parameters)
    return found


@pytest.mark.req("GG-R-24", "DC-08")
def test_all_stages_see_the_source_s_text_and_the_target_gets_its_own() -> None:
    parameters = ReplicatParameters.model_validate(
        {
            "maps": MAPS,
            "ddl": {"include": [{"scope": "MAPPED", "instr": "character varying(5)"}]},
            "substitutions": [{"search": "(5)", "replacement": "(6)"}],
        }
    )
    found = into_mysql("ALTER TABLE hr.t ADD c character varying(5)", parameters)
    assert found.outcome is Outcome.RUNS
    assert {step.stage: step.text for step in found.steps}["remove comments after"] == (
        "ALTER TABLE dw.t ADD c character varying(6)"
    )
    assert found.record.text == "ALTER TABLE `dw`.`t` ADD COLUMN `c` VARCHAR(6)"
    assert isinstance(sqlglot.parse_one(found.record.text, read="mysql"), sqlglot.exp.Alter)


@pytest.mark.req("GG-R-24", "DC-08")
@pytest.mark.parametrize(("code", "handling"), [("DDL-104", Handling.DISCARD), ("42P07", Handling.ABEND)])
def test_what_can_not_be_translated_is_an_error_for_ddlerror(code: str, handling: Handling) -> None:
    parameters = ReplicatParameters.model_validate({"maps": MAPS, "errors": [{"error": code, "action": "discard"}]})
    found, answer = answered(into_mysql("ALTER TABLE hr.t ADD c int[]", parameters), None, 1, parameters)
    assert answer.handling is handling
    assert "MySQL has no type with the values of INT[]" in found.steps[10].why
    assert found.record.text == "ALTER TABLE dw.t ADD c int[]"


@pytest.mark.parametrize(
    ("text", "there"),
    [
        (
            "CREATE TABLE IF NOT EXISTS A.t (Id bigint PRIMARY KEY, \"N\" numeric(12,2) NOT NULL DEFAULT -1, v text,"
            " w varchar(9) DEFAULT 'it''s', s timestamp, u timestamp(3), b bytea, f float8, r real,"
            " ok bool DEFAULT true)",
            "CREATE TABLE IF NOT EXISTS `a`.`t` (`id` BIGINT PRIMARY KEY, `N` DECIMAL(12, 2) NOT NULL DEFAULT -1, `v`"
            " LONGTEXT, `w` VARCHAR(9) DEFAULT 'it''s', `s` DATETIME(6), `u` DATETIME(3), `b` LONGBLOB, `f` DOUBLE, `r`"
            " FLOAT, `ok` BOOLEAN DEFAULT TRUE)",
        ),
        ("CREATE TABLE t (a int, b int, PRIMARY KEY (a, b))",
         "CREATE TABLE `t` (`a` INT, `b` INT, PRIMARY KEY (`a`, `b`))"),
        ("ALTER TABLE a.t RENAME TO u", "ALTER TABLE `a`.`t` RENAME `a`.`u`"),
        ("ALTER TABLE a.t RENAME COLUMN x TO y", "ALTER TABLE `a`.`t` RENAME COLUMN `x` TO `y`"),
        ("ALTER TABLE t ADD c char(3), DROP d", "ALTER TABLE `t` ADD COLUMN `c` CHAR(3), DROP COLUMN `d`"),
        ("DROP TABLE IF EXISTS a.t, u", "DROP TABLE IF EXISTS `a`.`t`, `u`"),
    ],
)  # fmt: skip
def test_a_statement_for_mysql(text: str, there: str) -> None:
    assert translated(text, Dialect.POSTGRES, Dialect.MYSQL) == there
    assert translated(text, Dialect.POSTGRES, Dialect.POSTGRES) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ALTER TABLE t ALTER c TYPE int USING c::int", "altercolumn is not translated"),
        ("ALTER TABLE t ADD x numeric", "no type with the values of DECIMAL"),
        ("ALTER TABLE t ADD x timestamptz", "no type with the values of TIMESTAMPTZ"),
        ("ALTER TABLE t ADD x int DEFAULT random()", "rand is not translated"),
        ("ALTER TABLE t ADD x text DEFAULT 'a\\b'", "a backslash"),
        ("ALTER TABLE t ADD x text COLLATE \"C\"", "collate"),
        ("ALTER TABLE t DROP x CASCADE", "cascade of drop"),
        ("DROP TABLE t CASCADE", "cascade of drop"),
        ("CREATE TABLE t (a int) PARTITION BY LIST (a)", "properties of create"),
        ("CREATE TABLE t (a int GENERATED ALWAYS AS IDENTITY)", "generatedasidentity"),
        ("CREATE TABLE t AS SELECT 1", "without columns of its own"),
        ("CREATE INDEX i ON t (a)", "CREATE INDEX is not translated"),
        ("ALTER TABLE t ADD x int; DROP TABLE u", "2 statements"),
        ("ALTER TABLE t ADD x int (", "COMMAND is not translated"),
        ("ALTER TABLE t ADD 'x", "can't be read"),
    ],
)  # fmt: skip
def test_a_part_without_an_equal_is_named(text: str, why: str) -> None:
    with pytest.raises(Untranslatable, match=why):
        translated(text, Dialect.POSTGRES, Dialect.MYSQL)


def test_a_pair_of_dialects_without_a_table_is_refused() -> None:
    with pytest.raises(Untranslatable, match="no statement is translated from oracle to postgres"):
        translated("DROP TABLE t", Dialect.ORACLE, Dialect.POSTGRES)
