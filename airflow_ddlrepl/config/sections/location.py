"""This module resolves a URL or a connection id of the channel file to a connection URL, and hides its password."""

from __future__ import annotations

import getpass
import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from airflow_ddlrepl.errors import ConfigError, LocationUnusable
from airflow_ddlrepl.known_engines import ENGINES, UNFIT, scheme_of
from airflow_ddlrepl.notation.environment import expand, home

VARIABLE = "DDLREPL_CONNECTIONS_FILE"
LOCATIONS = """\
**Locations** are ids of Airflow connections or URLs: `postgresql://app@localhost/shop`, `duckdb:///data/shop.duckdb`."""
CONNECTION_TYPES = {"ddlrepl": "postgresql"}
"""Airflow's types of connection that are no scheme: the scheme of their locations."""
_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.:-]*://")
_ID = re.compile(r"^[A-Za-z0-9_.-]+$")
_USER = re.compile(r"://[^:@/?#\s]*:")
_WORD = re.compile(r"\S+")
_SECRETS = (
    "password|passwd|pwd|secret|token|rest_token|credential|sslpassword|secret-access-key|connection_uri|ddlrepl_state"
)
_SECRET = re.compile(rf"(?i)\b({_SECRETS})=('(?:[^'\\]|\\.)*'|[^&\s]*)")
CUT, LONGEST = "…", 2000
"""The mark of a text that is cut, and so many characters of a statement are shown on a page."""
_LIBPQ = frozenset(
    [
        "application_name",
        "channel_binding",
        "client_encoding",
        "connect_timeout",
        "fallback_application_name",
        "gssencmode",
        "hostaddr",
        "keepalives",
        "keepalives_count",
        "keepalives_idle",
        "keepalives_interval",
        "krbsrvname",
        "load_balance_hosts",
        "options",
        "passfile",
        "require_auth",
        "service",
        "sslcert",
        "sslcompression",
        "sslcrl",
        "sslkey",
        "sslmode",
        "sslnegotiation",
        "sslpassword",
        "sslrootcert",
        "sslsni",
        "ssl_max_protocol_version",
        "ssl_min_protocol_version",
        "target_session_attrs",
        "tcp_user_timeout",
    ]
)


def redact(url: str) -> str:
    """Return a URL, or a text that contains some, with *** in place of every password."""
    text = _WORD.sub(lambda m: _without_password(m.group()), url) if "://" in url else url
    return _SECRET.sub(lambda m: f"{m.group(1)}=***", text)


def short_text(text: str) -> str:
    """Return a statement, or a text about one, as pages show it: without passwords, and cut where it is long."""
    return cut(redact(text), LONGEST)


def cut(text: str, longest: int) -> str:
    """Return the first characters of a text; a mark says that there are more."""
    return text if len(text) <= longest else f"{text[:longest]} {CUT}"


def _without_password(word: str) -> str:
    """Return it in a time that grows with its length: statements of megabytes come here, too."""
    user, end = _USER.search(word), word.rfind("@")
    return word if user is None or end < user.end() else f"{word[: user.end()]}***{word[end:]}"


def process_user() -> str:
    """Return the name of the user that this process runs as; of one that has no name, its number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def user_of(location: str) -> str:
    """Return the name of the user that connects to a location; one that names none takes PGUSER, or the process's user.

    Raises ConfigError as `resolve` does.
    """
    named = urlsplit(resolve(location)).username
    return unquote(named) if named else os.environ.get("PGUSER") or process_user()


def resolve(location: str) -> str:
    """Return the libpq URL of a location, which is a URL or the id of an Airflow connection.

    `${VAR}` is replaced first. A connection is looked up in AIRFLOW_CONN_<ID> (URI or JSON), then in the file that
    DDLREPL_CONNECTIONS_FILE names (JSON, or lines `id=URL`; only its owner may read it).
    Raises ConfigError CFG-102 (variable unset), CFG-103 (no such connection), LocationUnusable CFG-104.
    """
    text = expand(location).strip()
    if _URL.match(text):
        return _checked(text, "the location")
    if not _ID.match(text):
        raise LocationUnusable(
            "the location is neither a URL nor a connection id",
            code="CFG-104",
            hint="write postgresql://user@host:5432/database, or the id of an Airflow connection",
        )
    value = os.environ.get(_variable(text)) or from_file(text)
    if value is None:
        raise _no_connection(text)
    return from_connection(value, text)


def from_connection(value: str, name: str) -> str:
    """Return the libpq URL of an Airflow connection. value: its URI or JSON. Raises LocationUnusable CFG-104."""
    what = f"connection {name!r}"
    return _checked(_libpq(value, name), what)


def default_repository() -> str:
    """Return the URL of the default repository: an SQLite file under $DDLREPL_HOME."""
    return f"sqlite:///{home() / 'repository.db'}"


def default_trail() -> str:
    """Return the path of the default trail: a folder under $DDLREPL_HOME."""
    return str(home() / "trail")


def _checked(url: str, what: str) -> str:
    scheme, _, rest = url.partition("://")
    known = scheme_of(scheme)
    if known is None:
        raise LocationUnusable(f"{what} is of type {scheme!r}", code="CFG-104", hint=_only(scheme))
    if known == "postgresql":
        _require_libpq(rest, what)
    return f"{known}://{rest}"


def _require_libpq(rest: str, what: str) -> None:
    """Raise LocationUnusable CFG-104 where libpq would read another place out of a URL. rest: what follows `://`."""
    place = rest.partition("?")[0]
    authority = re.split(r"[/#]", place, maxsplit=1)[0]
    ports = [
        host.rpartition(":")[2] for host in authority.rpartition("@")[2].split(",") if re.search(r":[^\]]*$", host)
    ]
    is_odd = place.count("@") > authority.count("@") or authority.count("@") > 1 or re.search(r"[#\s]", rest)
    if is_odd or not all(port == "" or port.isdigit() for port in ports):
        raise LocationUnusable(
            f"{what} is not a valid URL",
            code="CFG-104",
            hint="percent-encode special characters in user, password and database: @ is %40, / is %2F, : is %3A,"
            " # is %23, a space is %20",
        )


def _only(scheme: str) -> str:
    """Return a hint for an unsupported database: what to use, and the page with HVR's AdaptDDL for that database."""
    if scheme.lower() in UNFIT:
        return UNFIT[scheme.lower()]
    hint = f"supported are {', '.join(f'{known}://…' for known in ENGINES)}"
    from airflow_ddlrepl.hvr.profile import of_scheme

    profile = of_scheme(scheme)
    if profile is None:
        return hint
    refused = "; ".join(note.text for note in profile.refusals)
    page = f"docs/databases.md says what HVR's AdaptDDL does with {profile.title}"
    return f"{hint}\n        {page}{f' ({refused})' if refused else ''}"


def _variable(name: str) -> str:
    return f"AIRFLOW_CONN_{name.upper()}"


def _no_connection(name: str) -> ConfigError:
    """Return the error with the places that were searched, and the command that adds the connection."""
    add = f"airflow connections add {name} --conn-uri 'postgres://user:password@host:5432/database'"
    named = os.environ.get(VARIABLE)
    if named and _airflow_has_no(name, Path(named)):
        where, hint = "in its secrets backends, the environment and its metadata database", add
        return ConfigError(f"there is no connection {name!r}: Airflow has none {where}", code="CFG-103", hint=hint)
    file = f"the file {named} ({VARIABLE}) has no connection of that name" if named else f"{VARIABLE} names no file"
    return ConfigError(
        f"there is no connection {name!r}: {_variable(name)} is not set, and {file}",
        code="CFG-103",
        hint=f"{add}\n        and run `airflow ddlrepl …`, which reads Airflow's connections; or set {_variable(name)}",
    )


def _airflow_has_no(name: str, file: Path) -> bool:
    """Return whether the file was written by Airflow, which has no connection of that id."""
    text = file.expanduser().read_text(encoding="utf-8")
    return text.lstrip().startswith("{") and name in json.loads(text)


def from_file(name: str) -> str | None:
    """Return the connection of that id in the file that DDLREPL_CONNECTIONS_FILE names: URL or JSON, or None.

    Raises ConfigError CFG-105 when the file can't be used.
    """
    path = os.environ.get(VARIABLE)
    if not path:
        return None
    file = Path(path).expanduser()
    try:
        mode = file.stat().st_mode
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(f"{file}: {reason}", code="CFG-105", hint=f"{VARIABLE} names a file of connections") from None
    if stat.S_IMODE(mode) & 0o077:
        raise ConfigError(f"{file} can be read by others", code="CFG-105", hint=f"chmod 600 {file}")
    return _lookup(text, name, file)


def _lookup(text: str, name: str, file: Path) -> str | None:
    if text.lstrip().startswith("{"):
        try:
            found = json.loads(text).get(name)
        except ValueError as error:
            line = getattr(error, "lineno", 1)
            raise ConfigError(f"{file}:{line}: not valid JSON", code="CFG-105") from None
        return found if found is None or isinstance(found, str) else json.dumps(found)
    for line in text.splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and key.strip() == name and not key.startswith("#"):
            return value.strip()
    return None


def _libpq(value: str, name: str) -> str:
    """Convert Airflow's URI or JSON form of a connection to a libpq URL."""
    value = value.strip()
    if not value.startswith("{"):
        return _from_airflow_uri(value, name)
    try:
        data = json.loads(value)
        extra = data.get("extra") or {}
        extra = json.loads(extra) if isinstance(extra, str) else extra
        kind = str(data.get("conn_type", "postgres"))
        fields = [data.get(k) for k in ("login", "password", "host", "port", "schema")]
        user, password, host, port, database = ("" if v is None else str(v) for v in fields)
        host, extra = _url_as_setting(kind, host, extra, name)
        return _compose(kind, user, password, host, port, database or str(extra.get("database", "")), extra)
    except (ValueError, AttributeError):
        raise LocationUnusable(
            f"connection {name!r} is not valid JSON", code="CFG-104", hint='Airflow\'s JSON form: {…, "conn_type": …}'
        ) from None


def _url_as_setting(kind: str, host: str, extra: Mapping[str, str], name: str) -> tuple[str, Mapping[str, str]]:
    """Return host and settings of a connection; where its host is the URL of a service, that is one of the settings."""
    if "://" not in host or scheme_of(kind) in (None, "postgresql"):
        return host, extra
    return "", {**extra, "connection_uri": host, "connection": name}


def _from_airflow_uri(value: str, name: str) -> str:
    try:
        parts = urlsplit(value)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        extra = json.loads(query["__extra__"]) if "__extra__" in query else query
        port = parts.port or ""
    except ValueError:
        return value
    user, password, host = (unquote(v or "") for v in (parts.username, parts.password, parts.hostname))
    if "://" in (written := unquote(parts.netloc.rpartition("@")[2])):
        host, extra = _url_as_setting(parts.scheme, written, extra, name)
    return _compose(parts.scheme, user, password, host, str(port), unquote(parts.path.lstrip("/")), extra)


def _compose(
    kind: str, user: str, password: str, host: str, port: str, database: str, extra: Mapping[str, object]
) -> str:
    login = quote(user, safe="") + (":" + quote(password, safe="") if password else "")
    place = f"[{host}]" if ":" in host else quote(host, safe="")
    scheme = CONNECTION_TYPES.get(kind, kind)
    has_others = scheme_of(scheme) != "postgresql"
    database = database.removeprefix("/") if has_others else database
    query = urlencode({k: str(v) for k, v in sorted(extra.items()) if k in _LIBPQ or has_others}, quote_via=quote)
    return "".join(
        (
            f"{scheme}://",
            f"{login}@" if login else "",
            place,
            f":{port}" if port else "",
            f"/{quote(database, safe='')}" if database else "",
            f"?{query}" if query else "",
        )
    )
