"""An object store that stops working: a door in front of it, which after some files answers that it is overloaded."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlsplit

OVERLOADED = b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
PIECE = 1 << 16


@dataclass
class FailingStore:
    """`with` opens it. behind: URL of the store. url: of the door. good_for: files that are still written; None: all.

    refused: how many requests met the overload.
    """

    behind: str
    good_for: int | None = None
    refused: int = 0
    url: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> Self:
        self._door = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._door.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._door.close()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._door.accept()
            except OSError:
                return
            threading.Thread(target=self._pass, args=(client,), daemon=True).start()

    def _pass(self, client: socket.socket) -> None:
        parts = urlsplit(self.behind)
        with client, socket.create_connection((parts.hostname or "", parts.port or 80)) as store:
            threading.Thread(target=_copy, args=(store, client), daemon=True).start()
            with suppress(OSError):
                while data := client.recv(PIECE):
                    if self._is_over(data):
                        client.sendall(OVERLOADED)
                        return
                    store.sendall(data)

    def _is_over(self, data: bytes) -> bool:
        """A file is counted by the first line of the request that writes it."""
        with self._lock:
            if self.good_for is None:
                return False
            if self.good_for > 0:
                self.good_for -= data.startswith(b"PUT ")
                return False
            self.refused += 1
            return True


def _copy(store: socket.socket, client: socket.socket) -> None:
    with suppress(OSError):
        while data := store.recv(PIECE):
            client.sendall(data)
        client.shutdown(socket.SHUT_WR)
