"""This module names our writing sessions at a target, and ends those of runs that are over."""

from __future__ import annotations

import hashlib
import logging
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection

log = logging.getLogger("ddlrepl")
END_MILLISECONDS = 5000
NAME_LENGTH = 30  # of a channel: all together are 63 bytes at most, of which the server keeps no more
NAME_SESSION = "pg_logical_emit_message(true, 'ddlrepl.session', current_setting('application_name'))"
"""This SQL expression writes the session's name into the log, for a capture that ignores what we have written."""
_END = """
SELECT pid, application_name, pg_terminate_backend(pid, %s) FROM pg_stat_activity
WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()
  AND substring(application_name FROM '^ddlrepl [a-z]+ (.+) [0-9]+$') = %s
  AND substring(application_name FROM ' ([0-9]{1,18})$')::bigint < %s
"""


def session_name(work: str, channel: str, token: int | str) -> str:
    """Return the name of a session in pg_stat_activity: `ddlrepl integrate shop 7`, 7 the token of the run's lock."""
    return f"ddlrepl {work} {_called(channel)} {token}"


def _called(channel: str) -> str:
    """Return a channel's name as session names contain it: a long one is cut, and made unique by its hash."""
    if len(channel) <= NAME_LENGTH:
        return channel
    return f"{channel[: NAME_LENGTH - 9]}~{hashlib.sha256(channel.encode()).hexdigest()[:8]}"


def end_earlier(connection: Connection[Any], channel: str, token: int) -> None:
    """End the sessions that earlier runs of the channel have here: they were taken over, because they died or slept.

    Their transactions are undone, their locks free. token: of the run that has the channel now.
    """
    for pid, name, _ in connection.execute(_END.encode(), [END_MILLISECONDS, _called(channel), token]).fetchall():
        log.warning("ended the session %s (%s) of a run that was taken over", pid, name)
