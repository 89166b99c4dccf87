"""Looks for a password in everything that a run left behind or showed, however it is spelled."""

from __future__ import annotations

import base64
import json
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote, quote_plus

SECONDS_BETWEEN_LOOKS = 0.02


def spellings(secret: str) -> set[bytes]:
    """As it is, percent-encoded, in JSON, hexadecimal and base64 at any offset."""
    raw = secret.encode()
    percent = quote(secret, safe="")
    found = {raw, percent.encode(), percent.lower().encode(), quote_plus(secret).encode(), raw.hex().encode()}
    found |= {json.dumps(secret)[1:-1].encode(), quote(secret).encode()}
    for offset in range(3):
        whole = base64.b64encode(b"\0" * offset + raw).decode().rstrip("=")
        found.add(whole[4 if offset else 0 : len(whole) - 2].encode())
    return found


class Hunt:
    """`with Hunt(secret, …) as hunt`: meanwhile every process's command line is read again and again."""

    def __init__(self, *secrets: str) -> None:
        self.needles = set().union(*(spellings(secret) for secret in secrets))
        self.shown: set[str] = set()
        self.looks = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._done.set()
        self._thread.join()

    def is_in(self, data: bytes | str) -> bool:
        text = data.encode() if isinstance(data, str) else data
        return any(needle in text for needle in self.needles)

    def files(self, *folders: Path, allowed: Iterable[Path] = ()) -> list[str]:
        """The files below the folders that hold it, or whose name does; but those allowed."""
        ours = set(allowed)
        every = [file for folder in folders for file in folder.rglob("*") if file.is_file() and file not in ours]
        assert every, "nothing to look at"
        return [str(file) for file in every if self.is_in(str(file)) or self.is_in(file.read_bytes())]

    def _watch(self) -> None:
        known: set[bytes] = set()
        while not self._done.wait(SECONDS_BETWEEN_LOOKS):
            self.looks += 1
            for process in filter(str.isdecimal, os.listdir("/proc")):
                try:
                    with open(f"/proc/{process}/cmdline", "rb", buffering=0) as file:
                        line = file.read()
                except OSError:
                    continue
                if line not in known and self.is_in(line):
                    self.shown.add(line.decode(errors="replace"))
                known.add(line)
