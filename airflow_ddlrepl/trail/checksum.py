"""A checksum of a trail's file is a SHA-256: nobody writes other bytes that have it.

The repository has the digests of manifests, and manifests have these checksums. Earlier versions wrote CRC-32.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import Any

_CHUNK = 1 << 22
_EARLIER = "crc32:"


class Checksum:
    """A checksum takes the bytes of a file piece by piece."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def update(self, data: Any) -> None:
        """Take the next bytes."""
        self._hash.update(data)

    @property
    def text(self) -> str:
        """Return the checksum of all bytes so far, as a manifest writes it: `sha256:` and 64 hex digits."""
        return f"sha256:{self._hash.hexdigest()}"


class _Crc32:
    def __init__(self) -> None:
        self._crc = 0

    def update(self, data: Any) -> None:
        self._crc = zlib.crc32(data, self._crc)

    @property
    def text(self) -> str:
        return f"{_EARLIER}{self._crc:08x}"


def checksum(data: Any, like: str = "") -> str:
    """Return the checksum of these bytes, as a manifest writes it. like: of the kind of this one."""
    found = _Crc32() if like.startswith(_EARLIER) else Checksum()
    view = memoryview(data)
    for start in range(0, len(view), _CHUNK):
        found.update(view[start : start + _CHUNK])
    return found.text
