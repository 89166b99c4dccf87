"""This module finds who writes in the source's database now: sessions and prepared transactions."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.engines.abilities.of_source import Writer
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.sql.lexer import Kind, placed_tokens

QUERY_LENGTH = 200
_SEE_MORE = "With pg_read_all_stats the channel's role also sees since when, and the statement"
# A session without a user is the server's own (autovacuum). Where the role may not see a session, its user and its
# transaction are shown all the same, and nothing else of it.
_WRITERS = """
SELECT format('process %%s (user %%s, application %%s, %%s since %%s)', pid, usename, quote_literal(application_name),
              coalesce(state, 'open'), coalesce(date_trunc('second', xact_start)::text,
                                                date_trunc('second', state_change)::text,
                                                date_trunc('second', backend_start)::text,
                                                'a time that this role may not see')),
       CASE WHEN query = '<insufficient privilege>' THEN '' ELSE coalesce(query, '') END,
       format('SELECT pg_terminate_backend(%%s);', pid)
FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND usesysid IS NOT NULL
  AND (backend_xid IS NOT NULL
       OR backend_type = 'client backend' AND state_change >= clock_timestamp() - make_interval(secs => %(seconds)s)
       OR backend_type IS NULL AND %(seconds)s > 0)
  AND NOT (backend_xid IS NULL AND starts_with(application_name, 'ddlrepl'))
UNION ALL
SELECT format('prepared transaction %%s (user %%s, since %%s)', quote_literal(gid), owner,
              date_trunc('second', prepared)), '', format('COMMIT PREPARED %%s;', quote_literal(gid))
FROM pg_prepared_xacts WHERE database = current_database()
"""


def writers(connection: Connection[Any], seconds: float = 0) -> list[Writer]:
    """Return the transactions of this database that have written and are open, prepared ones included.

    seconds: also sessions of clients that ran a statement, or ended a transaction, in the last so many seconds, and
    those of which the role may not see that.
    """
    found = connection.execute(_WRITERS, {"seconds": float(seconds)}).fetchall()
    return [Writer(who, _shown(query), end, "" if query else _SEE_MORE) for who, query, end in found]


def _shown(query: str) -> str:
    """Return a statement cut, without its string constants and comments: they may hold passwords and personal data."""
    shown, last = "", 0
    for token, begin, end in placed_tokens(query):
        shown += (" " if begin > last and shown else "") + ("'…'" if token.kind is Kind.STRING else query[begin:end])
        last = end
        if len(shown) > QUERY_LENGTH:
            return shown[:QUERY_LENGTH] + "…"
    return shown
