"""This module goes through the tokens of a condition."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

from airflow_ddlrepl.streams.condition.kinds import Kind
from airflow_ddlrepl.streams.condition.members import EXTRA_ATTRIBUTES
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.condition.problems import ConditionProblem
from airflow_ddlrepl.streams.condition.tree import (
    Attribute,
    Column,
    ColumnValue,
    Image,
    Node,
    Truth,
    Value,
)
from airflow_ddlrepl.streams.condition.variables import Variables
from airflow_ddlrepl.streams.parsing.tokens import END, TEXT, Token, tokens


@dataclass(frozen=True, slots=True)
class AnyData(Node):
    """This node is an ANYDATA: a column's value, or an extra attribute (image None), of any type."""

    variable: str
    image: Image | None
    name: str
    use_old: bool = True

    def accessed(self, access: str) -> Value:
        """Return the value that one of ANYDATA's functions reads."""
        if self.image is None:
            return Attribute(self.variable, f"extra.{self.name}", EXTRA_ATTRIBUTES[self.name])
        return ColumnValue(self.variable, self.image, self.name, access, self.use_old)


class Place(NamedTuple):
    """A place is where a condition mentions a column."""

    at: int
    end: int
    column: str


class TokenReader(ABC):
    """A token reader goes through the tokens of a condition; its subclasses parse what stands there."""

    def __init__(
        self, text: str, variables: Variables, columns: dict[str, Kind] | None, *, has_unknown: bool = True
    ) -> None:
        """columns: None: there are none, as in a rule's condition."""
        self.found = tokens(text)
        self.at = 0
        self.depth = 0
        self.variables = variables
        self.columns = columns
        self.has_unknown = has_unknown
        self.learned: dict[str, Kind] = {}
        self.places: list[Place] = []
        self.case = NameCase.UPPER

    @abstractmethod
    def sum(self) -> Node:
        """Parse a sum."""

    @abstractmethod
    def disjunction(self) -> Node:
        """Parse conditions joined by OR."""

    @abstractmethod
    def parenthesis(self) -> Node:
        """Parse what follows an opening parenthesis, up to the closing one."""

    @property
    def token(self) -> Token:
        """Return the next token."""
        return self.found[self.at]

    def is_next(self, text: str) -> bool:
        """Return whether the next token is this word or sign."""
        return self.token.is_word(text)

    def takes(self, text: str) -> bool:
        """Return whether the next token is this word or sign, and go past it when it is."""
        if self.is_next(text):
            self.at += 1
            return True
        return False

    def need(self, text: str) -> None:
        """Go past this word or sign. Raises ConditionProblem where something else stands."""
        if not self.takes(text):
            raise self.refuse(f"{text} is expected")

    def refuse(self, why: str = "") -> ConditionProblem:
        """Return the problem that the next token is."""
        shown = "it ends here" if self.token.kind == END else f"{self.token.text} can't stand here"
        return ConditionProblem(self.token.at, f"{shown}: {why}" if why else shown)

    def truth(self, node: Node) -> Truth:
        """Return a node that is true or false. Raises ConditionProblem for a value."""
        if not isinstance(node, Truth):
            raise ConditionProblem(self.token.at, "a value stands before this where a condition should be", "RUL-103")
        return node

    def value(self, node: Node, at: int) -> Value:
        """Return a node that is a value. Raises ConditionProblem for a condition, and an ANYDATA."""
        if isinstance(node, AnyData):
            raise ConditionProblem(at, "a value is read out of it with AccessNumber(), AccessVarchar2() …", "RUL-103")
        if not isinstance(node, Value):
            raise ConditionProblem(at, "a condition stands here where a value should be", "RUL-103")
        return node

    def learn(self, column: str, kind: Kind) -> None:
        """Note the kind that a column has to be."""
        self.learned.setdefault(column, kind)

    def learns(self, value: Value, kind: Kind) -> None:
        """Note the kind of a value that is a column of unknown type."""
        if isinstance(value, Column) and value.kind is None:
            self.learn(value.name, kind)

    def constant_text(self, of: str) -> str:
        """Parse a text in quotes."""
        token = self.token
        if token.kind != TEXT:
            raise self.refuse(f"{of} takes a text in quotes here")
        self.at += 1
        return token.text
