"""This module checks who wrote a DDL record: anybody may write messages into the log, but only ours are signed.

Others may use any prefix.
The event triggers sign with a key that nobody but the helper schema's owner and the reading role can read, and with
the transaction's id: what somebody saw in the log can't be written again.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Sequence
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.quoting import literal
from airflow_ddlrepl.errors import SourceError

# A key that neither a superuser nor the publication's owner made is a forger's own.
_READABLE_SQL = """
SELECT pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_table_privilege(c.oid, 'SELECT')
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_roles r ON r.oid = c.relowner
JOIN pg_catalog.pg_publication p ON p.pubname = {publication}
WHERE n.nspname = 'ddlrepl' AND c.relname = 'signature' AND (r.rolsuper OR r.oid = p.pubowner)
"""
_KEY_SQL = "SELECT pg_catalog.encode(key, 'hex') FROM ddlrepl.signature"
_SIGNATURE = re.compile(rb',"signature":"([0-9a-f]{64})"\}\Z')
_XID = (1 << 32) - 1


def read_key(ask: Callable[[str], Sequence[Any] | None], publication: str) -> bytes | None:
    """Return the key of the signatures; None where there is no helper schema.

    ask: runs a query and returns its first row.
    Raises SourceError SRC-144 when this role may not read it.
    """
    readable = ask(_READABLE_SQL.format(publication=literal(publication)))
    if readable is None:
        return None
    if not readable[0]:
        raise SourceError(
            "this role may not read ddlrepl.signature: DDL records can't be told from forged ones",
            code="SRC-144",
            hint="GRANT USAGE ON SCHEMA ddlrepl and SELECT ON ALL TABLES IN SCHEMA ddlrepl to it",
        )
    found = ask(_KEY_SQL)
    return bytes.fromhex(found[0]) if found else None


def is_signed(content: bytes, key: bytes | None) -> bool:
    """Does the message end in the key's signature of what comes before?

    Its transaction is checked by `is_of`.
    """
    found = _SIGNATURE.search(content)
    if found is None or not key:
        return False
    inner = hashlib.sha256(key + content[: found.start()] + b"}").digest()
    return hmac.compare_digest(hashlib.sha256(key + inner).hexdigest().encode(), found[1])


def is_of(claimed: Any, xid: int) -> bool:
    """Was the message written by the transaction that it is in?

    claimed: the signed 64-bit id.
    """
    return isinstance(claimed, str) and claimed.isdigit() and int(claimed) & _XID == xid & _XID
