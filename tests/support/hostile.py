"""Traps: functions and operators in public that PostgreSQL takes for its own where the search path lets it.

Each one counts in the sequence public.sprung when anybody but its author runs it: a sequence keeps its count
whatever is rolled back.
"""

from __future__ import annotations

FUNCTIONS = (
    "lower(text)", "upper(text)", "length(text)", "strpos(text, text)", "substr(text, integer)", "rtrim(text, text)",
    "ltrim(text)", "left(text, integer)", "regexp_replace(text, text, text)", "regexp_replace(text, text, text, text)",
    "regexp_count(text, text)", "string_to_array(text, text)", "current_query()", "current_setting(text)",
    "current_setting(text, boolean)", "set_config(text, text, boolean)", "to_regclass(text)", "hashtext(text)",
    "convert_to(text, name)", "encode(bytea, text)", "sha256(bytea)", "pg_current_xact_id()", "pg_current_snapshot()",
    "txid_current()", "now()", "pg_relation_size(oid)", "pg_relation_size(regclass)", "pg_get_expr(pg_node_tree, oid)",
    "format_type(oid, integer)", "pg_get_constraintdef(oid)", "pg_get_partkeydef(oid)", "quote_ident(text)",
    "pg_relation_filenode(regclass)", "pg_relation_filenode(oid)", "pg_advisory_lock(bigint)",
    "pg_advisory_xact_lock(bigint)", "pg_advisory_unlock(bigint)", "pg_logical_emit_message(boolean, text, bytea)",
    "pg_logical_emit_message(boolean, text, text)", "pg_event_trigger_table_rewrite_oid()",
    "has_table_privilege(oid, text)", "has_schema_privilege(oid, text)", "pg_has_role(oid, text)",
    "pg_current_wal_insert_lsn()", "pg_current_wal_flush_lsn()", "jsonb_array_elements(jsonb)", "nullif(text, text)",
    "has_database_privilege(text, text)", "pg_backend_pid()", "obj_description(oid, text)", "clock_timestamp()",
    "hashtextextended(text, bigint)", "pg_export_snapshot()", "setval(regclass, bigint)",
    "array_to_string(text[], text)",
)  # fmt: skip
OPERATORS = {
    "=": ("text, text", "name, text", "name, name", "oid, oid", "bigint, bigint", "integer, integer", "jsonb, jsonb",
          '"char", "char"', "mood, mood"),
    "<>": ("text, text", "name, name", "oid, oid", "jsonb, jsonb", '"char", "char"', "integer, integer"),
    "<": ("text, text", "pg_lsn, pg_lsn", "integer, integer"),
    "||": ("text, text", "jsonb, jsonb", "bytea, bytea", "oid[], oid[]"),
    "->": ("jsonb, text", "jsonb, integer"),
    "->>": ("jsonb, text", "jsonb, integer"),
    "~": ("text, text", "name, text"),
    "!~": ("text, text", "name, text"),
    "~~": ("text, text", "name, text"),
    ">=": ("oid, oid", "integer, integer"),
    ">": ("integer, integer", "bigint, bigint", "bigint, integer"),
}  # fmt: skip
BODY = (
    "begin if current_user operator(pg_catalog.<>) '{owner}' then perform pg_catalog.nextval('public.sprung'); end if;"
    " return null; end"
)
TRAPS = (*FUNCTIONS, *(f"{name} ({types})" for name, many in OPERATORS.items() for types in many))


def traps(owner: str) -> list[str]:
    """The statements that set them, to be run by their author."""
    body = "$trap$" + BODY.format(owner=owner) + "$trap$"
    made = [
        "create sequence public.sprung; grant all on sequence public.sprung to public",
        "create type public.mood as enum ('good', 'bad')",
        f"create function public.trap(integer) returns integer language plpgsql immutable as {body}",
        f"create function public.trap(public.mood) returns text language plpgsql immutable as {body}",
        "create cast (public.mood as text) with function public.trap(public.mood) as implicit",
    ]
    for signature in FUNCTIONS:
        made.append(f"create function public.{signature} returns {_returns(signature)} language plpgsql as {body}")
    number = 0
    for name, many in OPERATORS.items():
        for types in many:
            number += 1
            left, right = (f"public.{t}" if t == "mood" else t for t in types.split(", "))
            returns = "boolean" if name not in ("||", "->", "->>") else {"->": "jsonb", "->>": "text"}.get(name, left)
            call = f"public.operator_{number}"
            made.append(f"create function {call}({left}, {right}) returns {returns} language plpgsql as {body}")
            made.append(f"create operator public.{name} (leftarg = {left}, rightarg = {right}, function = {call})")
    return made


def _returns(signature: str) -> str:
    """Any type does: nobody is to use what they return."""
    return "boolean" if signature.startswith("has_") else "text"
