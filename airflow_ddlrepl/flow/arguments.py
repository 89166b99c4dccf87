"""Arguments of stages are fields of operators, which hold texts, and options of Spark apps."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.notation.name_pattern import table_patterns


class Form(Enum):
    """This is how an argument is written: as a text, as several options of an app, or as one that is there or not."""

    TEXT = "text"
    TABLES = "patterns schema.table, one per line or option"
    CODES = "codes of conditions, separated by spaces or one per option"
    SWITCH = "true or false; the app's option changes the default"


@dataclass(frozen=True)
class Argument:
    """An argument is what a person or a DAG may say of a run of a stage."""

    name: str
    """As the stage's function, and the operator, have it."""
    option: str
    """As the Spark app has it on its command line."""
    form: Form = Form.TEXT
    default: Any = None
    """Without one the argument is required."""
    choices: tuple[str, ...] | None = None

    def value(self, field: Any) -> Any:
        """Return the value that a field of an operator has for the stage.

        Raises ConfigError CFG-112 for a table that is not `schema.table`, CFG-135 for a switch of another word.
        """
        text = str(field).strip()
        match self.form:
            case Form.TABLES:
                return tuple(lines_of(text))
            case Form.CODES:
                return tuple(text.split())
            case Form.SWITCH:
                return self._switch(text.lower())
        return text

    def _switch(self, word: str) -> bool:
        if word in ("true", "false"):
            return word == "true"
        if word or self.default:
            raise ConfigError(f"{self.name} is {word!r}", code="CFG-135", hint="it is true or false")
        return False

    def words(self, value: Any) -> list[str]:
        """Return the words by which an app is given a value; none for the default.

        Each is one word: what a person typed into a form can't be taken for an option of its own.
        """
        if value == self.default:
            return []
        match self.form:
            case Form.TABLES | Form.CODES:
                return [f"{self.option}={one}" for one in value]
            case Form.SWITCH:
                return [self.option]
        return [f"{self.option}={value}"]

    def reading(self) -> dict[str, Any]:
        """Return how argparse reads the option."""
        match self.form:
            case Form.TABLES | Form.CODES:
                return {"action": "append", "default": []}
            case Form.SWITCH:
                return {"action": "store_false" if self.default else "store_true"}
        return {"default": self.default, "choices": self.choices, "required": self.default is None}


def lines_of(text: str) -> list[str]:
    """Return the table patterns of a text, one per line. Raises ConfigError CFG-112 unless each is `schema.table`."""
    return table_patterns(line.strip() for line in text.splitlines() if line.strip())
