"""Every type that a server brings along, as its catalog lists them, and which no table can carry, and why."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import psycopg
from psycopg import Connection

from tests.support.random_values import Make, array, makers

TYPES = """
SELECT t.oid::bigint, format('%I.%I', n.nspname, t.typname), t.typname::text, t.typtype::text, e.typname::text,
    e.typtype::text, b.typname::text, e.typdelim::text,
    (SELECT format(CASE WHEN t.typsend::text IN ('array_send', 'range_send', 'multirange_send') THEN '%1$s(%%s)'
                   ELSE '%1$s(%%s::%2$s)' END, s.oid::regproc, s.proargtypes[0]::regtype)
     FROM pg_proc s WHERE s.oid = t.typsend)
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
LEFT JOIN pg_type e ON e.typarray = t.oid
LEFT JOIN pg_type b ON b.oid = coalesce(nullif(e.typbasetype, 0), nullif(t.typbasetype, 0))
WHERE t.oid < 16384 ORDER BY t.oid
"""
PSEUDO = "a pseudo-type: no column has it"
CATALOG_ROW = "the row of a system catalog: composites are tested with types of users"
NO_INPUT = "PostgreSQL makes its values itself and takes none"
NO_INPUT_TYPES = {
    *["gtsvector", "_gtsvector", "pg_node_tree", "pg_ndistinct", "pg_dependencies", "pg_mcv_list"],
    *["pg_brin_bloom_summary", "pg_brin_minmax_multi_summary"],
}
NAMES_OF_ONE_SERVER = {
    "regproc": ["pg_catalog.now", "-", "4294967294"],
    "regprocedure": ["lower(text)", "-"],
    "regoper": ["0", "pg_catalog.||/"],
    "regoperator": ["+(integer,integer)", "0"],
    "regclass": ["pg_class", "information_schema.tables", "123456789"],
    "regcollation": ['"C"', '"POSIX"'],
    "regtype": ["integer[]", "timestamp with time zone", "-"],
    "regrole": ["postgres", "pg_monitor"],
    "regnamespace": ["pg_catalog", "information_schema"],
    "regconfig": ["simple", "english"],
    "regdictionary": ["simple"],
    "regdatabase": ["template1", "-"],
    "aclitem": ["postgres=arwdDxt/postgres", "=r/postgres", "pg_monitor=r*w/postgres"],
}
NOT_RECEIVED_EMPTY = ("int2vector", "oidvector", "tsquery")
DOMAINS: Mapping[str, Make] = {
    "cardinal_number": lambda rng: str(rng.choice([0, 1, 2147483647])),
    "yes_or_no": lambda rng: rng.choice(["YES", "NO"]),
}
MODIFIED: Mapping[str, tuple[str, Make | None]] = {
    "varchar(5)": ("varchar", None),
    "char(7)": ("bpchar", None),
    "bit(11)": ("varbit", None),
    "varbit(13)": ("varbit", None),
    "timestamp(3)": ("timestamp", None),
    "timestamptz(0)": ("timestamptz", None),
    "time(2)": ("time", None),
    "timetz(5)": ("timetz", None),
    "interval(2)": ("interval", None),
    "interval day to second(3)": ("interval", None),
    "interval year": ("interval", None),
    "numeric(1000,500)": ("numeric", lambda rng: f"{rng.randint(-(10**499), 10**499)}.{rng.randrange(10**90)}"),
    "numeric(5,-2)": ("numeric", lambda rng: str(rng.randrange(-999999, 999999))),
    "numeric(3,5)": ("numeric", lambda rng: f"0.00{rng.randrange(999):03}"),
    "char(3)[]": ("_bpchar", None),
    "timestamp(0)[]": ("_timestamp", None),
}


@dataclass(frozen=True)
class Kind:
    """spelled: as a column's definition. send: writes the binary form of a column, %s."""

    spelled: str
    name: str
    make: Make
    send: str
    travels_as_text: bool = False


@dataclass(frozen=True)
class Found:
    """kinds: what columns can have. left_out: type → why not."""

    kinds: tuple[Kind, ...]
    left_out: Mapping[str, str]


def find(connection: Connection[Any], version: int) -> Found:
    """Raises KeyError for a type that has neither random values nor a reason to be left out."""
    names: dict[str, Make] = {name: partial(_one_of, found) for name, found in NAMES_OF_ONE_SERVER.items()}
    known = {**makers(version), **names, **DOMAINS}
    kinds, left_out = [], {}
    for _, spelled, name, typtype, element, element_kind, base, delimiter, send in connection.execute(TYPES):
        if reason := _reason(name, typtype, element_kind):
            left_out[spelled] = reason
            continue
        make: Make = known[element or name] if (element or name) in known else known[base]
        if element:
            make = partial(array, element=make, delimiter=delimiter)
        is_text = (element or name) in (*NAMES_OF_ONE_SERVER, *NOT_RECEIVED_EMPTY) or element_kind == "d"
        kinds.append(Kind(spelled, name, make, "%s::text" if "aclitem" in name else f"encode({send}, 'hex')", is_text))
    return Found(tuple(kinds + _modified(kinds)), left_out)


def _modified(kinds: list[Kind]) -> list[Kind]:
    by_name = {kind.name: kind for kind in kinds}
    return [
        Kind(spelled, spelled, make or by_name[name].make, by_name[name].send)
        for spelled, (name, make) in MODIFIED.items()
    ]


def _reason(name: str, typtype: str, element_kind: str | None) -> str:
    if "p" in (typtype, element_kind):
        return PSEUDO
    if typtype == "c" or element_kind == "c":
        return CATALOG_ROW
    return NO_INPUT if name in NO_INPUT_TYPES else ""


def _one_of(found: list[str], rng: random.Random) -> str:
    return rng.choice(found)


def takes_values(connection: Connection[Any], name: str) -> bool:
    """Does the type's input function take anything?"""
    try:
        connection.execute(f"SELECT '{{x}}'::{name}".encode())
    except psycopg.errors.FeatureNotSupported:
        return False
    except psycopg.Error:
        return True
    return True


def can_be_key(connection: Connection[Any], kind: Kind) -> bool:
    """Is there a B-tree for it, and an order of what an array of it holds?"""
    connection.execute("BEGIN")
    try:
        connection.execute(f"CREATE TABLE probe (c {kind.spelled} PRIMARY KEY)".encode())
        connection.execute(f"SELECT %s::{kind.spelled} < %s".encode(), [kind.make(random.Random(1))] * 2)
    except psycopg.Error:
        return False
    finally:
        connection.execute("ROLLBACK")
    return True
