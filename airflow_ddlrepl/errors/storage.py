"""These errors are about where state is kept and what answers: the trail, the repository, disks, connections."""

from __future__ import annotations

from airflow_ddlrepl.errors.base import DdlReplError, Exit


class Unreachable(DdlReplError):
    """A source, target, repository or trail does not answer (CON-…)."""

    exit_code = Exit.UNREACHABLE
    is_local = True


class DiskFull(DdlReplError):
    """The disk of the trail, of the repository or of a database server is full (DSK-…)."""

    is_local = True


class LimitReached(DdlReplError):
    """More trail, or more of the source's log, has gathered than the channel file allows (LIM-…)."""


class TrailError(DdlReplError):
    """A trail file is missing, truncated or foreign (TRL-…)."""

    is_local = True


class FileDamaged(TrailError):
    """A file of the trail is not as it was written; `at` names its segment (TRL-102, TRL-103, TRL-106, TRL-113)."""


class FileMissing(FileDamaged):
    """A file of the trail is not there; `at` names its segment (TRL-101)."""


class RepositoryError(DdlReplError):
    """The repository can't be used, or would contradict itself (REP-…)."""


class RepositoryPutBack(RepositoryError):
    """Source or targets are further than the repository knows: it was put back to an older copy."""


class StepContradicted(RepositoryError):
    """A step of a schema change is done with other SQL than what is to be recorded (REP-106)."""
