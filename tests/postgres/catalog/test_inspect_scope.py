"""A channel's scope answers alike in Python and inside the server."""

from __future__ import annotations

import json

import pytest

from airflow_ddlrepl.config.sections.scope import Joining, Scope
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified
from airflow_ddlrepl.engines.postgres.source.scope_patterns import patterns_of, regex
from airflow_ddlrepl.engines.postgres.source.source import PostgresSource
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.notation.name_pattern import matches
from airflow_ddlrepl.scope.client import Client
from airflow_ddlrepl.scope.decide import ChangeKind, decide
from tests.conftest import Databases

PATTERNS = [
    "*", "o?_line_*", "t[a-f]*", "t[!a-f]*", "tmp*|temp*", '"T*"', '"a""b"', "ÄÖ*", "a.b", "[^x]y", "a\\d", "x{1}",
    "(a)|b+", "[a\\]*", "*$", "é?", "[A-C]z", "_%", "a-b", "[.]*", "ß", "\n*", "[+--]x",
    "[a||b]x", "[a&&b~~c]x", "[--.a]x", "[a-b-]x",
]  # fmt: skip
NAMES = [
    "o1_line_x", "oxx_line_1", "ta", "TB", "tg", "TMP1", "temp", "te1", "T*", "t*", 'a"b', "äöx", "ÄÖ", "a.b", "aXb",
    "zy", "xy", "Xy", "a\\d", "a1", "x{1}", "(a)", "B+", "b+", "\\", "a", "$", "x$", "éa", "É\n", "bz", "Cz", "_%",
    "a-b", ".x", "ß", "SS", "\nq", ",x", "-x", "|x", "&x", "~x", "bx",
]  # fmt: skip


def test_patterns_match_alike_in_the_server(databases: Databases) -> None:
    with connect(databases.source) as connection:
        rows = connection.execute(
            "SELECT p, n, n ~ r FROM unnest(%s::text[], %s::text[]) AS x(p, r), unnest(%s::text[]) AS n",
            [PATTERNS, [regex(p) for p in PATTERNS], NAMES],
        ).fetchall()
    assert [row for row in rows if matches(row[0], row[1]) != row[2]] == []


@pytest.mark.req(
    "HVR-P-03",
    "HVR-P-04",
    "HVR-P-05",
    "HVR-P-06",
    "HVR-P-09",
    "HVR-P-12",
    "HVR-P-13",
    "HVR-P-14",
    "HVR-P-15",
    "HVR-P-19",
)
@pytest.mark.parametrize(
    ("rules", "joining", "staying"),
    [
        ([Joining("o?_line_*")], ["ol_line_1", "o1_line_x"], ["oxx_line_1"]),
        ([Joining("ord_[a-f]")], ["ord_a", "ord_f"], ["ord_g"]),
        ([Joining("tmp*|temp*")], ["tmp1", "temp1"], ["te1"]),
        ([Joining("a*"), Joining("b*")], ["a1", "b1"], ["c1"]),
        ([Joining("T*")], ["tab", "Tab2"], ["xab"]),
        ([Joining("t*", "t?p|t[x-z]|tmp*")], ["tab_1"], ["tap", "ty", "tmp_a"]),
        ([Joining("t*", "tmp*|temp*"), Joining("*x")], ["tab_1", "tmp_x", "temp_x", "tx"], ["tmp_y", "temp1", "abc"]),
    ],
)
def test_new_tables_join_by_their_name(
    databases: Databases, rules: list[Joining], joining: list[str], staying: list[str]
) -> None:
    scope = Scope(("public.*",), (), tuple(rules))
    assert _joined(databases, scope, [TableName("public", n) for n in joining + staying]) == [
        TableName("public", n) for n in joining
    ]


@pytest.mark.req("HVR-P-20")
def test_capture_schema_chooses_the_schema(databases: Databases) -> None:
    names = [TableName("aa1", "t"), TableName("aa2", "t"), TableName("public", "t")]
    assert _joined(databases, Scope(("*.*",), (), (Joining("*", None, "aa1"),)), names) == names[:1]


def test_without_capture_schema_the_channels_schemas_count(databases: Databases) -> None:
    names = [TableName("public", "t"), TableName("public", "kept_out"), TableName("other", "t")]
    assert _joined(databases, Scope(("public.*",), ("*.kept*",), (Joining("*"),)), names) == names[:1]


def _joined(databases: Databases, scope: Scope, names: list[TableName]) -> list[TableName]:
    """Creates them all in an active channel; which joined it. Python must say the same."""
    slot = f"s_{databases.source[-8:]}"
    source = PostgresSource(databases.source, channel="c", publication="p", slot=slot, scope=scope)
    with source, connect(databases.source) as user:
        source.activate()
        for name in names:
            user.execute(f"CREATE SCHEMA IF NOT EXISTS {name.schema}".encode())
            user.execute(f"CREATE TABLE {qualified(name)} (i int PRIMARY KEY)".encode())
        rows = user.execute(
            "SELECT n.nspname, c.relname FROM pg_publication_rel r JOIN pg_class c ON c.oid = r.prrelid"
            " JOIN pg_namespace n ON n.oid = c.relnamespace ORDER BY r.prrelid"
        ).fetchall()
    found = [TableName(*row) for row in rows]
    assert found == [name for name in names if decide(Client(scope), name, ChangeKind.NEW_TABLE).is_taken]
    assert json.loads(json.dumps(patterns_of(scope))) == patterns_of(scope)
    return found
