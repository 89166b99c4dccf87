"""A capture looks at the source's catalog: before it reads the log, or beside it, where there is much log to read.

The log that is read has to explain what the look has found, so the look comes before the end of the log. Where it is
taken beside the reading, the catalog's version is taken before that end, and again with the shapes: as long as it is
the same, the shapes are those of the earlier moment.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from airflow_ddlrepl.capture.drift import Inspection
from airflow_ddlrepl.engines.source_catalog import Catalog, SourceCatalog
from airflow_ddlrepl.errors import Unreachable
from airflow_ddlrepl.flow.capture.drift_check import explained_version, inspection_of
from airflow_ddlrepl.flow.capture.file_changes import FileChange
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.model.position import Position

BESIDE_BYTES = 4 << 20
"""With so many bytes of log to read, the shapes are read beside it; with less, a session more would take longer."""


class CatalogLook:
    """A look at the catalog is over when the first window of log is read. `with` ends what it does beside.

    end: where the log ends that has to explain what the look finds. change: of the channel file since the source was
    brought up to it. size: bytes of log that are there to read; None: not known.
    """

    def __init__(self, run: RunContext, change: FileChange, size: int | None) -> None:
        self.end = Position(0)
        self._run, self._change = run, change
        self._is_beside = size is not None and size >= BESIDE_BYTES
        self._bystanders = run.source.membership.bystanders()
        self._more: dict[str, Any] = {}
        self._beside: Future[Catalog] | None = None
        self._made: Inspection | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with self._stack:
            self._other = self._session() if self._is_beside else None
            catalog, expected = self._run.source.catalog, explained_version(self._run, self._bystanders)
            self._found = catalog.now() if self._other is not None else catalog.inspect_catalog(expected)
            if self._found.version == expected:
                self._other = None
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> bool | None:
        return self._stack.__exit__(kind, error, at)

    def begin(self, end: Position, **more: Any) -> None:
        """Begin to read the shapes, if that is still to do. end: after the catalog's version. more: of the inspection.

        It comes after what else the capture does with the source before it reads the log.
        """
        self.end, self._more = end, more
        if self._other is not None:
            reader = self._stack.enter_context(ThreadPoolExecutor(1, "ddlrepl-catalog"))
            self._beside = reader.submit(self._other.inspect_catalog, "")

    def inspection(self) -> Inspection:
        """Return what the look has found; wait until it is over.

        Where the catalog has changed since, it found what is later: then the log is to be read further, up to `end`.
        """
        if self._beside is not None:
            found, self._beside = self._beside.result(), None
            if found.version == self._found.version:
                found = replace(found, seen=self._found.seen)
            else:
                log.info("the catalog has changed while the log was read: it is read further")
                self.end = max(self.end, self._run.source.stable_end())
            self._found = found
        if self._made is None:
            self._made = inspection_of(self._run, self._change, self._found, self._bystanders)
        return replace(self._made, **self._more)

    def forget_due(self) -> None:
        """Forget what was due: a window has it."""
        self._more |= {"due": {}, "gap": ""}

    def _session(self) -> SourceCatalog | None:
        """Return the catalog over another session; None where there is none to be had."""
        try:
            return self._stack.enter_context(self._run.source.catalog.beside())
        except Unreachable as error:
            log.info("the catalog is read before the log, not beside it: %s", error.message)
            return None
