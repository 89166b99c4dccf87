"""A server in front of a REST server: it hands out tokens as OAuth2 has it, and lets nobody in without one."""

from __future__ import annotations

import http.client
import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

CLIENT, SECRET, SCOPE = "shop", "very+secret/4711", "PRINCIPAL_ROLE:ALL"
TOKENS, CONFIG, VENDED = "/v1/oauth/tokens", "/v1/config", "X-Iceberg-Access-Delegation"


@dataclass
class Guard:
    """tokens: those that let in. given: how many there were. vended: the paths that credentials were asked for.

    lapses: at the next request with this in its path no token lets in any more. is_closed: no new one is given.
    """

    behind: int
    port: int = 0
    tokens: set[str] = field(default_factory=set)
    given: int = 0
    lapses: str = ""
    is_closed: bool = False
    vended: list[str] = field(default_factory=list)

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def give(self) -> str:
        """A token that lets in."""
        found = secrets.token_urlsafe(24)
        self.tokens.add(found)
        self.given += 1
        return found

    def answer_to_login(self, form: dict[str, list[str]]) -> tuple[int, dict[str, Any]]:
        wanted = {"grant_type": ["client_credentials"], "client_id": [CLIENT], "client_secret": [SECRET]}
        if self.is_closed or form != {**wanted, "scope": [SCOPE]}:
            said = f"client {form.get('client_id')} has not the secret {form.get('client_secret')}"
            return 401, {"error": "invalid_client", "error_description": said}
        return 200, {"access_token": self.give(), "token_type": "bearer", "expires_in": 3600}

    def lets_in(self, path: str, header: str) -> bool:
        if self.lapses and self.lapses in path:
            self.lapses = ""
            self.tokens.clear()
        return header.removeprefix("Bearer ") in self.tokens


@contextmanager
def guarded(behind: int) -> Iterator[Guard]:
    """A guard of the server that listens at a port."""
    guard = Guard(behind)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.path == TOKENS:
                status, content = guard.answer_to_login(parse_qs(body.decode()))
                self._say(status, json.dumps(content).encode())
            elif not guard.lets_in(self.path, self.headers.get("Authorization", "")):
                error = {"message": "the token is not good", "type": "NotAuthorizedException", "code": 401}
                self._say(401, json.dumps({"error": error}).encode())
            else:
                if self.headers.get(VENDED) and not self.path.startswith(CONFIG):
                    guard.vended.append(self.path)
                self._pass_on(body)

        do_GET = do_POST = do_DELETE = do_HEAD = answer

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def _pass_on(self, body: bytes) -> None:
            there = http.client.HTTPConnection("127.0.0.1", guard.behind, timeout=60)
            there.request(self.command, self.path, body or None, {"Content-Type": "application/json"})
            found = there.getresponse()
            self._say(found.status, found.read())
            there.close()

        def _say(self, status: int, content: bytes) -> None:
            self.send_response(status)
            if status != 204:
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    guard.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield guard
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
