"""The stages of Extract on a server: which statements reach the trail, and with which text."""

from __future__ import annotations

from typing import Any, NamedTuple

import psycopg
import pytest

from tests.flow.goldengate.test_extract import recorded, replaying
from tests.support.replica import Make

MORE = "CREATE TABLE u (id int PRIMARY KEY, v int)"
ALL: dict[str, Any] = {"tables": ["public.*"], "ddl": {}}
T_ALONE = {"include": [{"objname": "public.t"}]}
BEFORE, AFTER = {"remove_comments": ["before"]}, {"remove_comments": ["after"]}


class Case(NamedTuple):
    """ids: what it shows. extract: parameters. statements: at the source. trail: the texts that are not discarded."""

    ids: str
    extract: dict[str, Any]
    statements: tuple[str, ...]
    trail: tuple[str, ...]


def given(**more: Any) -> dict[str, Any]:
    return {**ALL, **more}


def included(*clauses: dict[str, Any], **more: Any) -> dict[str, Any]:
    return given(ddl={"include": list(clauses)}, **more)


def excluded(*clauses: dict[str, Any], **more: Any) -> dict[str, Any]:
    return given(ddl={"include": [{"scope": "ALL"}], "exclude": list(clauses)}, **more)


def replaced(search: str, by: str, **criteria: Any) -> dict[str, Any]:
    return {"search": search, "replacement": by, **criteria}


ON_T, ON_TMP, ON_U = (f"ALTER TABLE {table} ADD x int" for table in ("t", "tmp", "u"))
COMMENTED = "ALTER TABLE t ADD x int -- logfile"
INDEX = "CREATE INDEX ix ON u (v)"
RENAME = "ALTER TABLE t RENAME TO b"
LITERAL = {"scope_semantics": "literal"}
CASES = {
    "no other is included": Case("GG-E-04 GG-E-29 GG-E-32", given(ddl=T_ALONE), (ON_T, ON_TMP), (ON_T,)),
    "comments stay": Case("GG-E-19", ALL, (COMMENTED,), (COMMENTED,)),
    "comments go before": Case("GG-E-16", given(**BEFORE), (COMMENTED,), (ON_T,)),
    "comments are searched nevertheless": Case(
        "GG-E-17", included({"instr_comments": "logfile"}, **BEFORE), (COMMENTED, ON_TMP), (ON_T,)
    ),
    "a word of a comment is none of the command": Case("GG-E-18", included({"instr": "logfile"}), (COMMENTED,), ()),
    "a word of a comment": Case("GG-E-18", included({"instr_comments": "logfile"}), (COMMENTED, ON_TMP), (COMMENTED,)),
    "listed": Case("GG-E-20 GG-E-25", included({"scope": "MAPPED"}, tables=["public.t"]), (ON_T, ON_U), (ON_T,)),
    "not listed": Case("GG-E-25", included({"scope": "UNMAPPED"}, tables=["public.t"]), (ON_T, ON_U), (ON_U,)),
    "none is OTHER": Case("GG-E-25", included({"scope": "OTHER"}, tables=["public.t"]), (ON_T, ON_U), ()),
    "not listed, literally": Case(
        "GG-E-24", included({"scope": "OTHER"}, tables=["public.t"], **LITERAL), (ON_T, ON_U), (ON_U,)
    ),
    "the new name is listed": Case("GG-E-21", included({"scope": "MAPPED"}, tables=["public.b"]), (RENAME,), (RENAME,)),
    "the old name is listed": Case("GG-E-21", included({"scope": "MAPPED"}, tables=["public.t"]), (RENAME,), (RENAME,)),
    "an index is listed": Case("GG-E-22", included({"scope": "MAPPED"}, tables=["public.ix"]), (INDEX, ON_T), ()),
    "the table of an index is listed": Case(
        "GG-E-22 GG-E-11", included({"scope": "MAPPED"}, tables=["public.u"]), (INDEX, ON_T), (INDEX,)
    ),
    "both options": Case("GG-E-27", included({"objtype": "TABLE", "optype": "CREATE"}), (ON_T, INDEX), ()),
    "of scope": Case("GG-E-34", excluded({"scope": "UNMAPPED"}, tables=["public.t"]), (ON_U, ON_T), (ON_T,)),
    "of operation": Case("GG-E-34", excluded({"optype": "CREATE"}), (INDEX, ON_T), (ON_T,)),
    "of type": Case("GG-E-34", excluded({"objtype": "INDEX"}), (INDEX, ON_T), (ON_T,)),
    "of name": Case("GG-E-34", excluded({"objname": "public.t?p"}), (ON_TMP, ON_T), (ON_T,)),
    "of command": Case("GG-E-34", excluded({"instr": "add x"}), (ON_TMP, INDEX), (INDEX,)),
    "of comment": Case("GG-E-34", excluded({"instr_comments": "logfile"}), (COMMENTED, ON_TMP), (ON_TMP,)),
    "substituted by criteria": Case(
        "GG-E-35 GG-E-39",
        given(substitutions=[replaced("draft", "done", include=[{"objname": "public.t"}])]),
        ("ALTER TABLE t ADD x int /* draft */", "ALTER TABLE tmp ADD x int /* draft */"),
        ("ALTER TABLE t ADD x int /* done */", "ALTER TABLE tmp ADD x int /* draft */"),
    ),
    "a false one leaves the statement": Case(
        "GG-E-39",
        given(substitutions=[replaced("draft", "done", exclude=[{"objname": "public.t"}])]),
        ("ALTER TABLE t ADD x int /* draft */",),
        ("ALTER TABLE t ADD x int /* draft */",),
    ),
    "each on what the one before has made": Case(
        "GG-E-36 GG-E-37",
        given(substitutions=[replaced("one", "two"), replaced("none", "-"), replaced("two", "three")]),
        ("ALTER TABLE t ADD x int /* one */",),
        ("ALTER TABLE t ADD x int /* three */",),
    ),
    "decided before any is made": Case(
        "GG-E-38",
        given(substitutions=[replaced("one", "two"), replaced("x", "y", include=[{"instr_comments": "two"}])]),
        ("ALTER TABLE t ADD n int /* one x */",),
        ("ALTER TABLE t ADD n int /* two x */",),
    ),
    "filters see the text before": Case(
        "GG-E-40",
        included({"instr_comments": "done"}, substitutions=[replaced("draft", "done")]),
        ("ALTER TABLE t ADD x int /* draft */",),
        (),
    ),
    "comments go at last": Case(
        "GG-E-41",
        included(
            {"instr_comments": "draft"},
            substitutions=[replaced("draft", ""), replaced("x", "y", include=[{"instr_comments": "draft"}])],
            **AFTER,
        ),
        ("ALTER TABLE t ADD x int /* draft */",),
        ("ALTER TABLE t ADD y int",),
    ),
    "comments that went are not substituted": Case(
        "GG-E-42",
        given(substitutions=[replaced("draft", "done")], **BEFORE),
        ("ALTER TABLE t ADD x int /* draft */",),
        (ON_T,),
    ),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.req(*case.ids.split())) for name, case in CASES.items()]
)
def test_what_reaches_the_trail(make: Make, name: str) -> None:
    """What is discarded leaves the target's tables as they are, and the rows of all go on."""
    case = CASES[name]
    made = replaying(make, **case.extract)
    made.at_source(MORE)
    made.activate()
    before = len(recorded(made))
    made.at_source(*case.statements)
    made.capture()
    found = [event for event in recorded(made)[before:] if "CREATE TABLE" not in event.tag]
    assert tuple(str(event.statement) for event in found if not event.discarded) == case.trail
    assert len(found) == len(case.statements)


NEW_TABLES = (
    "CREATE TABLE as_selected AS SELECT * FROM u",
    "CREATE TABLE like_it (LIKE u INCLUDING ALL)",
    "CREATE TABLE parted (id int, v int, PRIMARY KEY (id, v)) PARTITION BY LIST (v)",
    "CREATE TABLE part PARTITION OF parted FOR VALUES IN (1)",
)
IDENTITY = "SELECT relname, relreplident::text FROM pg_class WHERE relkind = 'r' AND relname = ANY(%s)"


@pytest.mark.req("GG-E-46", "GG-E-50")
@pytest.mark.parametrize("is_on", [True, False])
def test_new_tables_log_whole_rows_where_that_is_asked_for(make: Make, is_on: bool) -> None:
    """Whatever kind of CREATE TABLE made them; one without a key has to in any case."""
    made = replaying(make, **given(add_trandata=is_on))
    made.at_source(MORE, *NEW_TABLES)
    with psycopg.connect(made.source) as session:
        names = ["u", "as_selected", "like_it", "part"]
        found: dict[str, str] = dict(session.execute(IDENTITY, [names]).fetchall())
    assert found == {"as_selected": "f", **dict.fromkeys(("u", "like_it", "part"), "f" if is_on else "d")}
