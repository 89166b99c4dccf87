"""A connection pooler that gives each transaction of a client another session of the server, or each client one."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

SSL_REQUEST, GSS_REQUEST, CANCEL = 80877103, 80877104, 80877102
ENDS_A_QUERY = (b"Q", b"S", b"F")
Message = tuple[bytes, bytes]


@dataclass
class Pooler:
    """mixes: whether a session goes back when a transaction has ended, and not when its client has."""

    place: tuple[str, int]
    mixes: bool
    idle: deque[socket.socket] = field(default_factory=deque)

    def serve(self, client: socket.socket) -> None:
        hello = _hello(client)
        if hello is None:
            return
        session: socket.socket | None = self._session(hello)
        waits = 0
        greeting = b"R" + struct.pack("!ii", 8, 0) + b"K" + struct.pack("!iii", 12, os.getpid(), 1)
        client.sendall(greeting + b"Z" + struct.pack("!i", 5) + b"I")
        while True:
            kind, body = _read(client)
            if kind == b"X":
                break
            session = session or self._session(hello)
            session.sendall(kind + body)
            waits = waits + 1 if kind in ENDS_A_QUERY else waits
            while waits:
                kind, body = _read(session)
                client.sendall(kind + body)
                if kind == b"Z":
                    waits -= 1
                if kind == b"G":  # the client's turn
                    break
            if not waits and body[-1:] == b"I" and self.mixes:
                self.idle.append(session)
                session = None

    def _session(self, hello: bytes) -> socket.socket:
        if self.mixes and self.idle:
            return self.idle.pop()
        made = socket.create_connection(self.place)
        made.sendall(hello)
        while _read(made)[0] != b"Z":
            pass
        return made


@contextmanager
def pooled(location: str, *, mixes: bool) -> Iterator[str]:
    """The location of a pooler in front of a server that asks for no password."""
    at = urlsplit(location)
    pooler = Pooler((str(at.hostname), int(at.port or 0)), mixes)
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_accept, args=(server, pooler), daemon=True).start()
        yield location.replace(f"{at.hostname}:{at.port}", f"127.0.0.1:{server.getsockname()[1]}")
        server.shutdown(socket.SHUT_RDWR)


def _accept(server: socket.socket, pooler: Pooler) -> None:
    with suppress(OSError):
        while True:
            client, _ = server.accept()
            threading.Thread(target=_served, args=(client, pooler), daemon=True).start()


def _served(client: socket.socket, pooler: Pooler) -> None:
    with suppress(OSError, EOFError), client:
        pooler.serve(client)


def _hello(client: socket.socket) -> bytes | None:
    """The client's first message; None where it only wants to cancel something."""
    while True:
        length = _exactly(client, 4)
        body = _exactly(client, struct.unpack("!i", length)[0] - 4)
        (code,) = struct.unpack("!i", body[:4])
        if code not in (SSL_REQUEST, GSS_REQUEST):
            return None if code == CANCEL else length + body
        client.sendall(b"N")


def _read(end: socket.socket) -> Message:
    kind, length = _exactly(end, 1), _exactly(end, 4)
    return kind, length + _exactly(end, struct.unpack("!i", length)[0] - 4)


def _exactly(end: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        if not (part := end.recv(count - len(found))):
            raise EOFError
        found += part
    return found
