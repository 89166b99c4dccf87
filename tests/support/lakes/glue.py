"""AWS Glue as a server of a test's own, by moto, with what Glue does and moto does not."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.lakes.store import KEY, SECRET

ACCOUNT, REGION = "123456789012", "eu-west-1"
PAGE = 2
"""So many databases and entries are in one answer."""


@dataclass
class GlueServer:
    """moto ignores the version that a request names, keeps all versions, and answers with all entries at once.

    Glue refuses a change of another version than the newest one, archives none where it is asked to, and has pages.
    calls: how often each request came. before: what is done once, before the next request of a name.
    """

    endpoint: str
    calls: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    before: dict[str, Callable[[], object]] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    """Requests that are done, and whose answer is lost once."""

    def settings(self) -> dict[str, str]:
        """What the location of a lake says of it besides."""
        login = {"access_key": KEY, "secret": SECRET, "region": REGION}
        return {"glue_endpoint": self.endpoint, "glue_catalog": ACCOUNT, **login}

    def client(self) -> Any:
        """A client that is none of the product's."""
        import boto3

        login = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "region_name": REGION}
        return boto3.client("glue", endpoint_url=self.endpoint, **login)

    def catalog(self) -> Any:
        """PyIceberg's catalog."""
        from pyiceberg.catalog.glue import GlueCatalog

        return GlueCatalog("reader", client=self.client())


@contextmanager
def as_glue_does(server: GlueServer) -> Iterator[None]:
    """Have moto answer so inside the `with`."""
    from moto.core.exceptions import JsonRESTError
    from moto.core.responses import ActionResult
    from moto.glue.responses import GlueResponse

    lock = threading.RLock()

    def answering(name: str, of: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def answer(request: Any) -> Any:
            with lock:
                server.calls[name] += 1
                do = server.before.pop(name, None)
            if do is not None:
                do()
            with lock:
                assert request.parameters.get("CatalogId", ACCOUNT) == ACCOUNT
                found = of(request)
                if name in server.lost:
                    server.lost.remove(name)
                    error = JsonRESTError("InternalServiceException", "the answer is lost")
                    error.code = 500
                    raise error
            return found

        return answer

    def update_table(request: Any) -> Any:
        said = request.parameters
        table = request.glue_backend.get_table(said["DatabaseName"], said["TableInput"]["Name"])
        if said.get("VersionId") not in (None, str(table._current_version)):
            raise JsonRESTError(
                "ConcurrentModificationException", "Update table failed due to concurrent modifications"
            )
        found = whole["update_table"](request)
        if said.get("SkipArchive"):
            table.versions = {str(table._current_version): table.versions[str(table._current_version)]}
        return found

    def paged(name: str, key: str) -> Callable[[Any], Any]:
        def answer(request: Any) -> Any:
            found = whole[name](request).result[key]
            begin = int(request.parameters.get("NextToken") or 0)
            further = {"NextToken": str(begin + PAGE)} if begin + PAGE < len(found) else {}
            return ActionResult({key: found[begin : begin + PAGE], **further})

        return answer

    names = ("get_table", "create_table", "update_table", "delete_table", "get_tables", "get_databases")
    whole = {name: getattr(GlueResponse, name) for name in names}
    own = {
        "update_table": update_table,
        "get_tables": paged("get_tables", "TableList"),
        "get_databases": paged("get_databases", "DatabaseList"),
    }
    with pytest.MonkeyPatch.context() as patched:
        for name in names:
            patched.setattr(GlueResponse, name, answering(name, own.get(name, whole[name])))
        yield


@contextmanager
def glue_server() -> Iterator[GlueServer]:
    """A server with an empty catalog."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    found = GlueServer(f"http://127.0.0.1:{server.get_host_and_port()[1]}")
    with as_glue_does(found):
        yield found
    with suppress(Exception):
        server.stop()
