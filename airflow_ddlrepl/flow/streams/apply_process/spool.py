"""A spool holds the messages of one transaction until the target has them: many of them lie in a temporary file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Self

from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.streams.apply_message import ApplyMessage

IN_MEMORY = 5_000
"""So many messages of a transaction are held in memory, and no more."""


class Spool:
    """A spool takes messages in order, and gives them in that order as often as it is asked. `close` empties it."""

    def __init__(self, in_memory: int = IN_MEMORY) -> None:
        self.count = 0
        self._in_memory = in_memory
        self._messages: list[ApplyMessage] = []
        self._file: IO[str] | None = None
        self._shapes: list[Table] = []
        self._numbers: dict[int, int] = {}

    def __len__(self) -> int:
        return self.count

    @property
    def in_memory(self) -> Sequence[ApplyMessage]:
        """Return the messages that are in memory: the first ones."""
        return self._messages

    def append(self, message: ApplyMessage) -> None:
        """Add a message."""
        self.count += 1
        if self.count <= self._in_memory:
            self._messages.append(message)
            return
        if self._file is None:
            self._file = TemporaryFile("w+", encoding="utf-8", prefix="ddlrepl-transaction-")  # noqa: SIM115 - `close`
        json.dump([self._number(message.shape), message.to_json()], self._file)
        self._file.write("\n")

    def __iter__(self) -> Iterator[ApplyMessage]:
        yield from self._messages
        if self._file is not None:
            self._file.seek(0)
            for line in self._file:
                number, message = json.loads(line)
                yield ApplyMessage.from_json(message, self._shapes[number] if number is not None else None)

    def _number(self, shape: Table | None) -> int | None:
        if shape is None:
            return None
        if id(shape) not in self._numbers:
            self._shapes.append(shape)
            self._numbers[id(shape)] = len(self._shapes) - 1
        return self._numbers[id(shape)]

    def close(self) -> None:
        """Remove the messages."""
        self._messages.clear()
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()
