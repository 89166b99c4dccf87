"""This module checks who wrote a message in the log: anybody may write messages, but only ours are signed.

Others may use any prefix.
The event triggers sign with a key that nobody but the helper schema's owner can read, and with the transaction's id:
what somebody saw in the log can't be written again. Who reads the log asks a function of ours, `ddlrepl.verified`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from airflow_ddlrepl.engines.postgres.connection.quoting import literal
from airflow_ddlrepl.errors import SourceError

# What neither a superuser nor the publication's owner made is a forger's own. `verified`: of the present version.
_ACCESS_SQL = """
SELECT pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND CASE WHEN v.oid IS NULL
           THEN pg_catalog.has_table_privilege(c.oid, 'SELECT')
           ELSE pg_catalog.has_function_privilege(v.oid, 'EXECUTE') END,
       v.oid IS NOT NULL
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_roles r ON r.oid = c.relowner
JOIN pg_catalog.pg_publication p ON p.pubname = {publication}
LEFT JOIN pg_catalog.pg_proc v ON v.pronamespace = n.oid AND v.proname = 'verified' AND v.proowner = c.relowner
WHERE n.nspname = 'ddlrepl' AND c.relname = 'signature' AND (r.rolsuper OR r.oid = p.pubowner)
"""
_KEY_SQL = "SELECT pg_catalog.encode(key, 'hex') FROM ddlrepl.signature"
_VERIFY_SQL = "SELECT ddlrepl.verified(%b::bytea[], %s::text[])"
_SIGNATURE = re.compile(rb',"signature":"([0-9a-f]{64})"\}\Z')
_XID = (1 << 32) - 1
AT_ONCE = 1000
"""The signatures of so many messages are checked by one statement."""


class Signatures(Protocol):
    """Signatures tell our messages from those that others have written."""

    def verify(self, messages: Sequence[bytes]) -> list[bool]:
        """Return for each message whether it ends in our signature of what comes before."""
        ...


class NoSignatures:
    """No message is signed, where there is no helper schema."""

    def verify(self, messages: Sequence[bytes]) -> list[bool]:
        """Return that none of the messages is ours."""
        return [False] * len(messages)


@dataclass(frozen=True, slots=True)
class KnownKey:
    """Signatures are checked by their key: a helper schema of an earlier version has no function for it."""

    key: bytes = field(repr=False)

    def verify(self, messages: Sequence[bytes]) -> list[bool]:
        """Return for each message whether the key has signed it."""
        return [self._is_signed(one) for one in messages]

    def _is_signed(self, content: bytes) -> bool:
        found = _parts(content)
        if found is None:
            return False
        body, mark = found
        inner = hashlib.sha256(self.key + body).digest()
        return hmac.compare_digest(hashlib.sha256(self.key + inner).hexdigest(), mark)


@dataclass(frozen=True, slots=True)
class AskedSignatures:
    """Signatures are checked by the source, which alone has the key.

    open_session: opens a session there; asked for when there is something to check, and closed at once.
    """

    open_session: Callable[[], Any]

    def verify(self, messages: Sequence[bytes]) -> list[bool]:
        """Return for each message whether the source's key has signed it."""
        parts = {place: found for place, one in enumerate(messages) if (found := _parts(one)) is not None}
        genuine = set[int]()
        if parts:
            places = list(parts)
            with self.open_session() as connection:
                for at in range(0, len(places), AT_ONCE):
                    some = places[at : at + AT_ONCE]
                    asked = [[parts[place][0] for place in some], [parts[place][1] for place in some]]
                    (answers,) = connection.execute(_VERIFY_SQL, asked).fetchone()
                    genuine |= {place for place, is_ours in zip(some, answers, strict=True) if is_ours}
        return [place in genuine for place in range(len(messages))]


def _parts(content: bytes) -> tuple[bytes, str] | None:
    """Return what was signed, and the signature that the message claims; None where it claims none."""
    found = _SIGNATURE.search(content, max(0, len(content) - 100))
    return (content[: found.start()] + b"}", found[1].decode()) if found is not None else None


def signatures_of(
    ask: Callable[[str], Sequence[Any] | None], publication: str, open_session: Callable[[], Any]
) -> Signatures:
    """Return what checks the signatures in the log of a source.

    ask: runs a query there and returns its first row. open_session: opens another session there.
    Raises SourceError SRC-144 when this role may not ask.
    """
    access = ask(_ACCESS_SQL.format(publication=literal(publication)))
    if access is None:
        return NoSignatures()
    is_allowed, is_function = access
    if not is_allowed:
        what = "call ddlrepl.verified" if is_function else "read ddlrepl.signature"
        raise SourceError(
            f"this role may not {what}: DDL records can't be told from forged ones",
            code="SRC-144",
            hint="GRANT USAGE ON SCHEMA ddlrepl, and SELECT ON ddlrepl.channel, ddlrepl.member to it; then run"
            " `ddlrepl activate` as the owner of the schema",
        )
    if is_function:
        return AskedSignatures(open_session)
    found = ask(_KEY_SQL)
    return KnownKey(bytes.fromhex(found[0])) if found else NoSignatures()


def is_of(claimed: Any, xid: int) -> bool:
    """Was the message written by the transaction that it is in?

    claimed: the signed 64-bit id.
    """
    return isinstance(claimed, str) and claimed.isdigit() and int(claimed) & _XID == xid & _XID


def content_of(content: bytes, xid: int) -> dict[str, Any] | None:
    """Return what a message with our signature says; None where it is of another transaction than `xid`."""
    said: dict[str, Any] = json.loads(content.decode("utf-8"))
    return said if said.get("v") == 1 and is_of(said.get("xid"), xid) else None
