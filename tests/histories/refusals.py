"""Ways in which a target refuses rows of a table, and how each is taken away again.

All that is made for it at a target begins with `NAME`. A function of `REFUSALS` returns the SQL that has a table refuse
rows, or the server refuses that.
"""

from __future__ import annotations

import random
from collections.abc import Callable

NAME = "refuses"
SETUP = f"""
CREATE SCHEMA IF NOT EXISTS {NAME};
CREATE TABLE IF NOT EXISTS {NAME}.narrowed (relation oid, number int, narrow text, was text);
CREATE OR REPLACE FUNCTION {NAME}.raises() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'no rows of %', TG_TABLE_NAME USING ERRCODE = 'check_violation'; END $$
"""
TABLES = f"""
SELECT c.oid::regclass::text, (
    SELECT json_agg(json_build_array(quote_ident(a.attname), format_type(a.atttypid, a.atttypmod)) ORDER BY a.attnum)
    FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''),
    NOT EXISTS (SELECT FROM pg_inherits WHERE c.oid IN (inhrelid, inhparent))
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'ddlrepl', '{NAME}')
ORDER BY n.nspname, c.relname
"""
TAKING_AWAY = f"""
SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) FROM pg_constraint
WHERE conname LIKE '{NAME}%' AND conislocal AND coninhcount = 0 AND conrelid <> 0
UNION ALL SELECT format('DROP TRIGGER %I ON %s', tgname, tgrelid::regclass) FROM pg_trigger
WHERE tgname LIKE '{NAME}%' AND tgparentid = 0
UNION ALL SELECT format('DROP INDEX %s', i.indexrelid::regclass) FROM pg_index i
JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relname LIKE '{NAME}%' AND NOT c.relispartition
UNION ALL SELECT format('ALTER TABLE %s ALTER %I TYPE %s USING %I::%s', attrelid::regclass, attname, was, attname, was)
FROM {NAME}.narrowed JOIN pg_attribute ON attrelid = relation AND attnum = number
WHERE format_type(atttypid, atttypmod) = narrow
ORDER BY 1
"""
REFUSING = f"""
SELECT conrelid FROM pg_constraint WHERE conname LIKE '{NAME}%' UNION
SELECT tgrelid FROM pg_trigger WHERE tgname LIKE '{NAME}%' UNION SELECT relation FROM {NAME}.narrowed UNION
SELECT indrelid FROM pg_index JOIN pg_class x ON x.oid = indexrelid WHERE x.relname LIKE '{NAME}%'
"""
NARROWED = f"""
SELECT DISTINCT format('%I.%I', n.nspname, c.relname) FROM {NAME}.narrowed
JOIN pg_attribute a ON a.attrelid = relation AND a.attnum = number AND format_type(a.atttypid, a.atttypmod) = narrow
JOIN pg_class c ON c.oid = relation JOIN pg_namespace n ON n.oid = c.relnamespace
"""
IS_REFUSED = f"""
WITH RECURSIVE tree AS (SELECT to_regclass(%s)::oid AS id UNION
    SELECT CASE WHEN inhrelid = id THEN inhparent ELSE inhrelid END
    FROM pg_inherits JOIN tree ON id IN (inhrelid, inhparent))
SELECT EXISTS (SELECT FROM tree WHERE id IN ({REFUSING.replace("%", "%%")}))
"""
HAVING_REFUSALS = f"""
SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid IN ({REFUSING})
"""
NARROW = dict.fromkeys(["integer", "bigint"], "numeric(2,0)") | dict.fromkeys(
    ["text", "character varying(5)", "character varying(20)", "character varying(30)"], "character varying(2)"
)
Columns = list[list[str]]
"""Of each column its name, as SQL spells it, and its type."""


def check(table: str, columns: Columns, rng: random.Random) -> str:
    condition = rng.choice(["false", f"length({rng.choice(columns)[0]}::text) < 2"])
    return f"ALTER TABLE {table} ADD CONSTRAINT {NAME}_{rng.randrange(99)} CHECK ({condition}) NOT VALID"


def trigger(table: str, columns: Columns, rng: random.Random) -> str:
    """It fires in sessions that replicate, too."""
    name = f"{NAME}_{rng.randrange(99)}"
    event = rng.choice(["INSERT", "INSERT OR UPDATE", "UPDATE OR DELETE"])
    made = f"CREATE TRIGGER {name} BEFORE {event} ON {table} FOR EACH ROW EXECUTE FUNCTION {NAME}.raises()"
    return f"{made}; ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}"


def unique(table: str, columns: Columns, rng: random.Random) -> str:
    return f"CREATE UNIQUE INDEX {NAME}_{rng.randrange(9999)} ON {table} ({rng.choice(columns)[0]})"


def narrow(table: str, columns: Columns, rng: random.Random) -> str:
    """Of a table without partitions, where its rows fit; no source has these types. Empty: no column fits."""
    fits = [(name, was) for name, was in columns if was in NARROW]
    if not fits:
        return ""
    name, was = rng.choice(fits)
    place = f"attrelid = '{table.replace(chr(39), chr(39) * 2)}'::regclass AND quote_ident(attname) = $q${name}$q$"
    noted = f"SELECT attrelid, attnum, '{NARROW[was]}', $q${was}$q$ FROM pg_attribute WHERE {place}"
    return f"ALTER TABLE {table} ALTER {name} TYPE {NARROW[was]}; INSERT INTO {NAME}.narrowed {noted}"


REFUSALS: dict[str, Callable[[str, Columns, random.Random], str]] = {
    "check": check,
    "trigger": trigger,
    "unique": unique,
    "narrow": narrow,
}
