"""Range types whose further names, of the multirange and of the functions, are in use at the target."""

from __future__ import annotations

import pytest

from tests.support.replica import BOTH, Make


@BOTH
@pytest.mark.parametrize(
    ("before", "after", "multirange"),
    [
        pytest.param(
            "CREATE TYPE span AS RANGE (subtype = float8, multirange_type_name = spans)",
            "CREATE TYPE span AS RANGE (subtype = text, multirange_type_name = texts)",
            "texts",
            id="multirange",
        ),
        pytest.param(
            "CREATE TYPE first AS RANGE (subtype = text); ALTER TYPE first RENAME TO span",
            "CREATE TYPE span AS RANGE (subtype = text)",
            "span_multirange",
            id="functions",
        ),
        pytest.param(
            "CREATE TYPE span AS RANGE (subtype = float8)",
            "ALTER TYPE span_multirange RENAME TO spans; CREATE TYPE span_multirange AS ENUM ('many');"
            "ALTER TABLE t ADD e span_multirange; CREATE TYPE span AS RANGE (subtype = text, multirange_type_name = m)",
            "m",
            id="another type",
        ),
    ],
)
def test_names_that_are_free_at_the_source_only(make: Make, before: str, after: str, multirange: str) -> None:
    """The server names what it makes together with a range: that of `t` is older at the source, and made here later."""
    replica = make(before, "CREATE TABLE t (id int PRIMARY KEY, r span)")
    replica.at_source("ALTER TYPE span RENAME TO former", after, "CREATE TABLE u (id int PRIMARY KEY, s span)")
    replica.at_source("INSERT INTO t VALUES (1, '[1,2]')", "INSERT INTO u VALUES (1, '[a,b]')")
    replica.settle()
    replica.at_source(f"ALTER TABLE u ADD m {multirange}", "INSERT INTO u VALUES (2, '[b,c]', '{[a,b],[c,d]}')")
    replica.settle()
    assert replica.rows("SELECT id, r::text FROM t") == [(1, "[1,2]")]
    assert replica.rows("SELECT * FROM u WHERE s @> 'c'::text") == [(2, "[b,c]", "{[a,b],[c,d]}")]
    columns = (
        "SELECT attname::text, atttypid::regtype::text FROM pg_attribute"
        " WHERE attrelid IN ('t'::regclass, 'u'::regclass) AND attname IN ('r', 's', 'm')"
    )
    assert dict(replica.rows(columns)) == {"r": "former", "s": "span", "m": multirange}


@BOTH
@pytest.mark.parametrize("base", ["float8", "int4"])
def test_a_range_type_that_is_made_anew_while_a_kept_column_has_the_former_one(make: Make, base: str) -> None:
    """The former one makes way together with its multirange; their functions have the new one's names."""
    replica = make(
        'CREATE TYPE "a %s\'" AS RANGE (subtype = float8)',
        'CREATE TABLE t (id int PRIMARY KEY, s "a %s\'")',
        "INSERT INTO t VALUES (1, '[1,4]')",
        adapt_ddl=[{"add_table_pattern": "*", "keep_existing_structure": True}],
    )
    replica.at_source('DROP TYPE "a %s\'" CASCADE', f'CREATE TYPE "a %s\'" AS RANGE (subtype = {base})')
    replica.at_source('ALTER TABLE t ADD n "a %s\'"', "UPDATE t SET n = '[1,4]'", "INSERT INTO t VALUES (2, '[2,5]')")
    replica.replicate()
    assert replica.rows("SELECT s::text, n::text FROM t ORDER BY id") == [("[1,4]", "[1,4]"), (None, "[2,5]")]
    subtypes = "SELECT attname::text, rngsubtype::regtype::text FROM pg_attribute JOIN pg_range ON rngtypid = atttypid"
    assert dict(replica.rows(f"{subtypes} WHERE attrelid = 't'::regclass")) == {
        "s": "double precision",
        "n": "double precision" if base == "float8" else "integer",
    }
