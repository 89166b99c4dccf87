"""These errors are about the channel: its file, its rules, its runs, and what a person decides about it."""

from __future__ import annotations

from airflow_ddlrepl.errors.base import DdlReplError, Exit


class ConfigError(DdlReplError):
    """The channel file or a command-line argument can't be used (CFG-…)."""

    exit_code = Exit.USAGE
    lists_lines = True


class LocationUnusable(ConfigError):
    """A location is no URL of a database that can be used, wherever the channel runs (CFG-104)."""


class DriverMissing(ConfigError):
    """The driver of a kind of database is not installed in this process; it may be where an app runs (CON-113)."""


class RuleError(ConfigError):
    """A rule, a rule set, a condition or a transformation can't be used (RUL-…)."""

    is_local = True
    disables_client = True


class ShapeUnknown(RuleError):
    """Rules need the shape that a table had at a place in the log, and nothing there has shown it (RUL-130)."""


class NotComputed(RuleError):
    """A condition asks for what can't be computed for a row, such as a division by zero (RUL-118)."""


class MessageError(DdlReplError):
    """A message can't be enqueued or dequeued (MSG-…)."""


class ControlStop(DdlReplError):
    """A target waits at a control, a breakpoint that a person has to remove (CTL-…)."""

    exit_code = Exit.CONTROL
    is_local = True


class CannotCutOver(DdlReplError):
    """The channel is cut over already, or can't be: applications do, or may, write where a run writes (CUT-…)."""


class LockHeld(DdlReplError):
    """Another run holds the channel (LCK-…)."""


class Fenced(DdlReplError):
    """This run has lost its channel to another one and may not write any more (LCK-…)."""
