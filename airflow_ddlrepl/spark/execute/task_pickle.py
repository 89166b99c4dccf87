"""Pickle tasks for Spark without their secrets, so that nothing Spark writes to a disk or shows contains one.

The pickled tasks travel as rows, one per task; the secrets as a small list inside the function that unpacks them,
which stays in memory.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from typing import Any

from airflow_ddlrepl.config.sections.location import redact


def pack(content: Any, secrets: list[str]) -> bytes:
    """Pickle the content without its passwords.

    Texts with a password are added to `secrets`, and their index in that list is pickled instead.
    """
    buffer = io.BytesIO()
    _Packer(buffer, secrets).dump(content)
    return buffer.getvalue()


def unpack(parcel: bytes, secrets: Sequence[str]) -> Any:
    """Return the content that `pack` pickled, with its secrets."""
    return _Unpacker(io.BytesIO(parcel), secrets).load()


class _Packer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, secrets: list[str]) -> None:
        super().__init__(file)
        self.secrets = secrets
        self.places = {text: place for place, text in enumerate(secrets)}

    def persistent_id(self, obj: Any) -> int | None:
        if type(obj) is not str or ("=" not in obj and "://" not in obj):
            return None
        if obj not in self.places:
            if redact(obj) == obj:
                return None
            self.places[obj] = len(self.secrets)
            self.secrets.append(obj)
        return self.places[obj]


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, secrets: Sequence[str]) -> None:
        super().__init__(file)
        self.secrets = secrets

    def persistent_load(self, pid: Any) -> str:
        return str(self.secrets[pid])
