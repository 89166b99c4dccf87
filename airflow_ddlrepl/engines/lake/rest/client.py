"""This module asks the REST server that has a lake's catalog, by the session that PyIceberg logs in with."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from airflow_ddlrepl.engines.lake.connection.conflicts import name_refused, name_taken
from airflow_ddlrepl.engines.lake.connection.rest_server import RestServer
from airflow_ddlrepl.errors import TargetError, Unreachable
from airflow_ddlrepl.model.names import TableName

if TYPE_CHECKING:
    from pyiceberg.catalog.rest import RestCatalog

log = logging.getLogger("ddlrepl")

_SECONDS = (10, 120)
"""So long a server may take to be reached, and to answer."""
NO_ANSWER = 0
"""The status of no answer."""
_EXPIRED = (HTTPStatus.UNAUTHORIZED, 419)
_LOGIN_REFUSED = (*_EXPIRED, HTTPStatus.FORBIDDEN)
_VENDED = "X-Iceberg-Access-Delegation"
"""The header that asks for credentials of a table's files."""
_TABLES, _TABLE, _COMMIT = "namespaces/{0}/tables", "namespaces/{0}/tables/{1}", "transactions/commit"
_VIEWS, _VIEW = "namespaces/{0}/views", "namespaces/{0}/views/{1}"
_NEEDED = (_COMMIT, "namespaces/{namespace}/register")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer has the server's status, `NO_ANSWER` where there is none.

    content: what was asked for, or why it is refused, without secrets of ours.
    """

    status: int
    content: Any = None

    @property
    def is_good(self) -> bool:
        """Has the server done what it was asked?"""
        return self.status // 100 == 2

    @property
    def is_refusal(self) -> bool:
        """Has the server done nothing, for certain? A conflict may be one with a request that was sent twice."""
        return self.status // 100 == 4 and self.status not in (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, 499)

    @property
    def text(self) -> str:
        """Return what the server says, for people."""
        return f"{self.status}: {self.content or 'no reason'}"


@dataclass(frozen=True, slots=True)
class RestClient:
    """A client asks one server."""

    server: RestServer

    def require_able(self) -> None:
        """Raise TargetError TGT-116 for a server that lacks what a window needs; many do not say what they have."""
        from pyiceberg.catalog.rest import DEFAULT_ENDPOINTS, VIEW_ENDPOINTS

        with _errors(self.server):
            named = _catalog(self.server)._supported_endpoints
        known = {one.path.partition("{prefix}/")[2] for one in named}
        if not named <= {*DEFAULT_ENDPOINTS, *VIEW_ENDPOINTS}:
            for path in _NEEDED:
                if path not in known:
                    raise unable(self.server, f"it has no endpoint {path}")

    def table(self, name: TableName, snapshots: str = "refs") -> dict[str, Any] | None:
        """Return what the server says of a table: `metadata-location` and `metadata`; None: there is none.

        snapshots: `refs` for those of branches and tags, or `all`. Raises Unsupported ADP-110 for a name that the
        server does not take.
        """
        answer = self._ask("GET", _TABLE.format(*map(self._part, name)), params={"snapshots": snapshots})
        if answer.status == HTTPStatus.BAD_REQUEST:
            raise name_refused(name, answer.text)
        return None if answer.status == HTTPStatus.NOT_FOUND else self._content(answer)

    def namespaces(self) -> list[str]:
        """Return the names of the namespaces that have no other above them."""
        found = self._pages("namespaces", "namespaces")
        return [one[0] for one in found if len(one) == 1]

    def tables(self, namespace: str) -> list[TableName]:
        """Return the names of the tables of a namespace."""
        found = self._pages(_TABLES.format(self._part(namespace)), "identifiers")
        return [TableName(namespace, one["name"]) for one in found]

    def add_namespace(self, name: str) -> None:
        """Add a namespace, unless it is there."""
        answer = self._ask("POST", "namespaces", {"namespace": [name], "properties": {}})
        if answer.status != HTTPStatus.CONFLICT:
            self._content(answer)

    def create(self, name: TableName, request: dict[str, Any]) -> None:
        """Make a table, unless there is one. request: as the protocol has it, without the name."""
        answer = self._ask("POST", _TABLES.format(self._part(name.schema)), {"name": name.name, **request})
        if answer.status != HTTPStatus.CONFLICT:
            self._content(answer)

    def register(self, name: TableName, metadata: str) -> None:
        """Make a table of a metadata file.

        Raises CannotAdapt ADP-104 where there is one of this name, TargetError TGT-116 where the server can't.
        """
        path = f"namespaces/{self._part(name.schema)}/register"
        answer = self._ask("POST", path, {"name": name.name, "metadata-location": metadata})
        if answer.status == HTTPStatus.CONFLICT:
            raise name_taken(name)
        if answer.status == HTTPStatus.NOT_IMPLEMENTED or (answer.is_refusal and answer.status not in _LOGIN_REFUSED):
            raise unable(self.server, f"it does not take the table {name}, whose metadata is {metadata}: {answer.text}")
        self._content(answer)

    def rename(self, old: TableName, new: TableName) -> None:
        """Give a table another name. Raises CannotAdapt ADP-104 where there is one of this name."""
        body = {"source": identifier(old), "destination": identifier(new)}
        answer = self._ask("POST", "tables/rename", body)
        if answer.status == HTTPStatus.CONFLICT:
            raise name_taken(new)
        if answer.status != HTTPStatus.NOT_FOUND:
            self._content(answer)

    def drop(self, name: TableName) -> None:
        """Remove a table where there is one; its files stay."""
        answer = self._ask("DELETE", _TABLE.format(*map(self._part, name)), params={"purgeRequested": "false"})
        if answer.status != HTTPStatus.NOT_FOUND:
            self._content(answer)

    @property
    def has_views(self) -> bool:
        """Does the server say that it can make views?"""
        with _errors(self.server):
            named = _catalog(self.server)._supported_endpoints
        return any(str(one) == "POST /v1/{prefix}/namespaces/{namespace}/views" for one in named)

    def view(self, name: TableName) -> dict[str, Any] | None:
        """Return what the server says of a view: its `metadata`; None: there is none."""
        answer = self._ask("GET", _VIEW.format(*map(self._part, name)))
        return None if answer.status == HTTPStatus.NOT_FOUND else self._content(answer)

    def views(self, namespace: str) -> list[TableName]:
        """Return the names of the views of a namespace."""
        found = self._pages(_VIEWS.format(self._part(namespace)), "identifiers")
        return [TableName(namespace, one["name"]) for one in found]

    def add_view(self, name: TableName, request: dict[str, Any]) -> None:
        """Make a view, unless its name is taken or the server refuses it: no table waits for a view.

        request: as the protocol has it.
        """
        answer = self._ask("POST", _VIEWS.format(self._part(name.schema)), request)
        if answer.is_refusal:
            log.warning("the REST server (%s) does not make the view %s: %s", self.server.name, name, answer.text)
        elif answer.status != HTTPStatus.CONFLICT:
            self._content(answer)

    def drop_view(self, name: TableName) -> None:
        """Remove a view where there is one."""
        answer = self._ask("DELETE", _VIEW.format(*map(self._part, name)))
        if answer.status != HTTPStatus.NOT_FOUND:
            self._content(answer)

    def commit(self, changes: Sequence[dict[str, Any]]) -> Answer:
        """Change several tables, all or none of them; a server that gives no answer may have done so, too."""
        try:
            return self._ask("POST", _COMMIT, {"table-changes": list(changes)})
        except Unreachable as error:
            return Answer(NO_ANSWER, error.message)

    def _pages(self, path: str, of: str) -> list[Any]:
        found: list[Any] = []
        token: str | None = ""
        while token is not None:
            answer = self._ask("GET", path, params={"pageToken": token} if token else None)
            if answer.status == HTTPStatus.NOT_FOUND:
                return found
            content = self._content(answer)
            found += content.get(of, ())
            token = content.get("next-page-token") or None
        return found

    def _content(self, response: Answer) -> Any:
        """Return what a good answer has. Raises Unreachable CON-102 and CON-124 for others."""
        if not response.is_good:
            raise refused(self.server, response)
        return response.content

    def _ask(self, method: str, path: str, body: Any = None, params: Any = None) -> Answer:
        with _errors(self.server):
            catalog = _catalog(self.server)
            for is_last in (False, True):
                response = catalog._session.request(
                    method, catalog.url(path), json=body, params=params, timeout=_SECONDS
                )
                if is_last or response.status_code not in _EXPIRED:
                    break
                catalog._refresh_token()
        return _parsed(self.server, response)

    def _part(self, name: str) -> str:
        """Return a name as a part of a URL's path."""
        return quote(name, safe="")


def _parsed(server: RestServer, response: Any) -> Answer:
    status = int(response.status_code)
    try:
        content = response.json() if response.content else None
    except ValueError:
        content = response.text
    if status // 100 == 2:
        return Answer(status, content)
    error = content.get("error") if isinstance(content, dict) else None
    said = error.get("message") if isinstance(error, dict) else error or content
    return Answer(status, server.redacted(str(said or "")))


def identifier(name: TableName) -> dict[str, Any]:
    """Return the name of a table as the protocol has it."""
    return {"namespace": [name.schema], "name": name.name}


def refused(server: RestServer, response: Answer) -> Unreachable:
    """Return the error of an answer that is not good."""
    of = login_refused if response.status in _LOGIN_REFUSED else unreachable
    return of(server, response.text)


def login_refused(server: RestServer, why: str) -> Unreachable:
    """Return the error of a server, or of who gives it tokens, that does not let the channel in."""
    return Unreachable(
        f"the REST server of a lake's catalog ({server.name}) refuses the login: {why}",
        code="CON-102",
        hint="check `credential`, `scope` and `oauth2_uri` of the location, or `rest_token` (is it expired?), or the"
        " login that signs requests, and what it may do at the server; the next run goes on from there",
    )


def unreachable(server: RestServer, why: str) -> Unreachable:
    """Return the error of a server that refuses, or does not answer."""
    return Unreachable(
        f"the REST server of a lake's catalog ({server.name}) refuses, or does not answer: {why}",
        code="CON-124",
        hint="check `uri`, `rest_warehouse` and the login of the location, and the server's log; the next run finds out"
        " what it has done, and goes on from there",
        retryable=True,
    )


def unable(server: RestServer, why: str) -> TargetError:
    """Return the error of a server that can't have the tables of a channel."""
    return TargetError(
        f"the REST server of a lake's catalog ({server.name}) lacks what a channel needs: {why}",
        code="TGT-116",
        hint="docs/lakehouse.md has what a server needs; take another one, a warehouse that it takes, or a JDBC"
        " catalog",
    )


@lru_cache
def _catalog(server: RestServer) -> RestCatalog:
    """Return PyIceberg's catalog of a server, which has asked it for its settings."""
    from pyiceberg.catalog.rest import RestCatalog

    found = RestCatalog("ddlrepl", **server.properties)
    found._session.headers.pop(_VENDED, None)  # files are read and written with a login of ours
    return found


@contextmanager
def _errors(server: RestServer) -> Iterator[None]:
    """Raise Unreachable CON-102 and CON-124 for what PyIceberg and its session raise inside the `with`."""
    from pyiceberg.exceptions import ForbiddenError, OAuthError, RESTError, UnauthorizedError
    from requests import RequestException

    try:
        yield
    except (OAuthError, UnauthorizedError, ForbiddenError) as error:
        raise login_refused(server, server.redacted(str(error))) from None
    except (RESTError, RequestException, NotImplementedError, ValueError) as error:
        raise unreachable(server, server.redacted(str(error))) from None
