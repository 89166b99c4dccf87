"""This module defines the settings of our sessions: under them every value is written, and read, alike everywhere.

What a role, a database or a server says otherwise is for applications. `SCHEMA` is where all objects of ours are.
"""

from __future__ import annotations

from collections.abc import Mapping

from airflow_ddlrepl.engines.postgres.connection.quoting import literal

SCHEMA = "ddlrepl"
"""This schema has all objects of ours, at a source and at a target."""

SAFE_PATH = "SET search_path = pg_catalog, pg_temp"
ARROWS_ENCODING = "SET client_encoding = 'UTF8'"  # without it the Arrow driver takes the database's for it

# What a role or a database says for the sessions of applications: ours wait for each other, and for long statements.
# The last one is known from version 17 on.
TIMEOUTS = (
    "statement_timeout",
    "idle_session_timeout",
    "idle_in_transaction_session_timeout",
    "transaction_timeout",
)
# Where the server's version is not known; one row comes back, whatever it is.
NO_TIMEOUTS = (
    "SELECT pg_catalog.count(pg_catalog.set_config(name, '0', false)) FROM pg_catalog.pg_settings"
    f" WHERE name IN {TIMEOUTS}"
)

READING: Mapping[str, str] = {
    "standard_conforming_strings": "on",
    "backslash_quote": "safe_encoding",
    "transform_null_equals": "off",
    "array_nulls": "on",  # else a NULL in an array that is sent as text becomes the word
    "quote_all_identifiers": "off",
    "timezone_abbreviations": "Default",
    "xmlbinary": "base64",
    "row_security": "off",  # else rows that a policy hides are left without a word
    "gin_fuzzy_search_limit": "0",
    "exit_on_error": "off",
    "default_transaction_isolation": "read committed",
    "default_transaction_deferrable": "off",
}
"""These settings decide how a statement of ours is read, and which rows it is about."""

VALUES: Mapping[str, str] = {
    "datestyle": "ISO, YMD",
    "intervalstyle": "postgres",
    "bytea_output": "hex",
    "timezone": "UTC",
    "extra_float_digits": "1",
    "lc_monetary": "C",
    "xmloption": "content",
}
"""These settings decide how a value is written as text, and read back."""

SESSION: Mapping[str, str] = {**READING, **VALUES}
"""These settings are for every session of ours, whatever its role, its database or its server says."""

ROWS: Mapping[str, str] = {**VALUES, "array_nulls": "on", "row_security": "off", "search_path": "pg_catalog"}
"""These settings are for a session that copies or compares rows."""

MERGE: Mapping[str, str] = {**VALUES, "array_nulls": "on", "work_mem": "128MB", "jit": "off"}
"""These settings are for a transaction that merges changes into a target; its search path stays."""

LOG: Mapping[str, str] = {
    **VALUES,
    "work_mem": "256MB",
    "logical_decoding_work_mem": "256MB",
    "client_encoding": "UTF8",
    "search_path": "pg_catalog, pg_temp",
    "application_name": "ddlrepl capture",
}
"""These settings are for a session that reads the log."""

SHAPES: Mapping[str, str] = {
    "search_path": "pg_catalog, pg_temp",
    "DateStyle": VALUES["datestyle"],
    "IntervalStyle": VALUES["intervalstyle"],
    "TimeZone": VALUES["timezone"],
    "extra_float_digits": VALUES["extra_float_digits"],
    "bytea_output": VALUES["bytea_output"],
    "quote_all_identifiers": "off",
    "standard_conforming_strings": "on",
    "lc_monetary": VALUES["lc_monetary"],
    "jit": "off",
    "plan_cache_mode": "force_generic_plan",
}
"""These settings are for the functions that write a table's shape: a helper schema has them letter by letter."""

SPELLING = "; ".join(f"SET {name} = {literal(value)}" for name, value in ROWS.items())
"""This SQL sets `ROWS` for the session, as several statements."""

SPELLING_HERE = "SELECT " + ", ".join(
    f"pg_catalog.set_config({literal(name)}, {literal(value)}, true)" for name, value in ROWS.items()
)
"""This statement sets `ROWS` until the transaction ends, for a driver that takes one statement at a time."""


def set_all(settings: Mapping[str, str]) -> str:
    """Return SQL that makes all of these settings for the session, in one query."""
    calls = (f"pg_catalog.set_config({literal(name)}, {literal(value)}, false)" for name, value in settings.items())
    return f"select {', '.join(calls)}"
