"""Messages signed as the event triggers sign them, by a key of these tests."""

from __future__ import annotations

import hashlib
import json
from typing import Any

KEY = bytes(range(32))


def signed(message: dict[str, Any], xid: int, key: bytes = KEY) -> bytes:
    """What ddlrepl.signed returns in a transaction of that id."""
    body = json.dumps({**message, "xid": str(xid)}).encode()
    mark = hashlib.sha256(key + hashlib.sha256(key + body).digest()).hexdigest()
    return body[:-1] + f',"signature":"{mark}"}}'.encode()
