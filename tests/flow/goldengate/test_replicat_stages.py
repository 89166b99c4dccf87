"""The stages of Replicat on a server: which statements of the trail run at the target, with which text and names."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from tests.support.replica import Make
from tests.support.replicating import MAPS, replicat

BEFORE, AFTER = {"remove_comments": ["before"]}, {"remove_comments": ["after"]}
ON_PAY, ON_TMP = "ALTER TABLE hr.pay ADD x int", "ALTER TABLE hr.tmp ADD x int"
AT_PAY, AT_TMP = "ALTER TABLE bk.bak_pay ADD x int", "ALTER TABLE bk.bak_tmp ADD x int"
INDEX = "CREATE INDEX by_v ON hr.pay (v)"
OF_PAY = [{"source": "hr.pay", "target": "bk.bak_pay"}]
OF_INDEX = [*OF_PAY, {"source": "hr.by_v", "target": "bk.its_index"}]


class Case(NamedTuple):
    """ids: what it shows. replicat: parameters. statements: at the source. ran: the texts that ran at the target."""

    ids: str
    replicat: dict[str, Any]
    statements: tuple[str, ...]
    ran: tuple[str, ...]


def clauses(include: list[dict[str, Any]], exclude: Any = (), **more: Any) -> dict[str, Any]:
    return {"ddl": {"include": include, "exclude": list(exclude)}, **more}


def commented(text: str, comment: str = "draft") -> str:
    return f"{text} /* {comment} */"


def replaced(search: str, by: str, **criteria: Any) -> dict[str, Any]:
    return {"search": search, "replacement": by, **criteria}


DONE = [replaced("draft", "done")]
CASES = {
    "the target's name": Case("GG-R-09 GG-R-06", {}, (ON_PAY,), (AT_PAY,)),
    "comments stay": Case("GG-R-02", {}, (commented(ON_PAY),), (commented(AT_PAY),)),
    "comments go before": Case("GG-R-03", {"substitutions": DONE, **BEFORE}, (commented(ON_PAY),), (AT_PAY,)),
    "comments are searched nevertheless": Case(
        "GG-R-04", clauses([{"instr_comments": "draft"}], **BEFORE), (commented(ON_PAY), ON_TMP), (AT_PAY,)
    ),
    "comments go at last": Case(
        "GG-R-22",
        {"substitutions": [*DONE, replaced("x int", "x integer", include=[{"instr_comments": "draft"}])], **AFTER},
        (commented(ON_PAY),),
        ("ALTER TABLE bk.bak_pay ADD x integer",),
    ),
    "the derived name, too": Case("GG-R-11 GG-R-14", {}, (INDEX,), ("CREATE INDEX bak_by_v ON bk.bak_pay (v)",)),
    "not the derived name": Case("GG-R-12", {"map_derived": False}, (INDEX,), ("CREATE INDEX by_v ON bk.bak_pay (v)",)),
    "the derived name by a MAP of its own": Case(
        "GG-R-13", {"maps": OF_INDEX}, (INDEX,), ("CREATE INDEX its_index ON bk.bak_pay (v)",)
    ),
    "NOMAPDERIVED before a MAP of its own": Case(
        "GG-R-13", {"maps": OF_INDEX, "map_derived": False}, (INDEX,), ("CREATE INDEX by_v ON bk.bak_pay (v)",)
    ),
    "filters see the target's name": Case("GG-R-15", clauses([{"objname": "bk.bak_pay"}]), (ON_PAY, ON_TMP), (AT_PAY,)),
    "filters don't see the source's name": Case("GG-R-15", clauses([{"objname": "hr.*"}]), (ON_PAY,), ()),
    "all options of a clause": Case(
        "GG-R-16",
        clauses([{"objname": "bk.*", "optype": "ALTER"}, {"optype": "CREATE", "objtype": "TABLE"}]),
        (ON_PAY, INDEX),
        (AT_PAY,),
    ),
    "excluded": Case("GG-R-17", clauses([{"scope": "ALL"}], [{"objname": "bk.bak_pay"}]), (ON_PAY, ON_TMP), (AT_TMP,)),
    "included": Case("GG-R-18", clauses([{"scope": "MAPPED"}]), (ON_PAY,), (AT_PAY,)),
    "without clauses": Case("GG-R-18", {"ddl": {}}, (ON_PAY,), (AT_PAY,)),
    "without a DDL parameter": Case("GG-R-19", {}, (ON_PAY, ON_TMP), (AT_PAY, AT_TMP)),
    "substituted by criteria": Case(
        "GG-R-20",
        {"substitutions": [replaced("draft", "done", include=[{"objname": "bk.bak_pay"}])]},
        (commented(ON_PAY), commented(ON_TMP)),
        (commented(AT_PAY, "done"), commented(AT_TMP)),
    ),
    "each on what the one before has made": Case(
        "GG-R-21",
        {"substitutions": [replaced("draft", "done"), replaced("none", "-"), replaced("done", "over")]},
        (commented(ON_PAY),),
        (commented(AT_PAY, "over"),),
    ),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.req(*case.ids.split())) for name, case in CASES.items()]
)
def test_what_runs_at_the_target(make: Make, databases: Any, name: str) -> None:
    """A statement that does not run is told, and the rows of its table go on."""
    case = CASES[name]
    made = replicat(make, databases, **{"maps": MAPS, **case.replicat})
    made.at_source(*case.statements, "INSERT INTO hr.pay (id, v) VALUES (7, 7)")
    done = made.replicate()
    sql = [one.sql for one in done.adapt.executed]
    assert tuple(one for one in sql if one.startswith(("ALTER", "CREATE INDEX"))) == case.ran
    assert sum("Replicat discards it" in why for why in done.discarded) == len(case.statements) - len(case.ran)
    assert made.rows("SELECT id FROM bk.bak_pay ORDER BY 1") == [(1,), (7,)]


@pytest.mark.req("GG-R-08")
def test_what_extract_calls_unmapped_is_mapped_at_replicat_and_the_other_way_round(make: Make, databases: Any) -> None:
    """TABLE lists hr.tmp, MAP lists hr.pay; each side's clauses see its own scope."""
    extract = {"tables": ["hr.tmp"], "ddl": {"include": [{"scope": "UNMAPPED"}, {"scope": "MAPPED"}]}}
    ddl = {"include": [{"scope": "MAPPED"}]}
    made = replicat(make, databases, maps=OF_PAY, ddl=ddl, settings={"source": {"extract": extract}})
    made.at_source(ON_PAY, ON_TMP)
    done = made.replicate()
    assert [one.sql for one in done.adapt.executed if one.sql.startswith("ALTER")] == [AT_PAY]
