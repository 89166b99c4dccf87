"""This module parses variables: the member functions of LCRs, and the fields of user messages."""

from __future__ import annotations

import re

from airflow_ddlrepl.notation.suggestion import nearest
from airflow_ddlrepl.sql import lexical
from airflow_ddlrepl.streams.condition.kinds import ACCESS
from airflow_ddlrepl.streams.condition.members import EXTRA_ATTRIBUTES, MEMBERS, NOT_HERE, ROW
from airflow_ddlrepl.streams.condition.problems import ConditionProblem, OtherKindOfLcr
from airflow_ddlrepl.streams.condition.tree import (
    Attribute,
    Field,
    Image,
    Node,
)
from airflow_ddlrepl.streams.condition.variables import Variable
from airflow_ddlrepl.streams.parsing.reader import AnyData, TokenReader
from airflow_ddlrepl.streams.parsing.tokens import NAME, WORD

_ACCESS = {name.upper(): name for name in ACCESS}
_QUOTED = re.compile(lexical.PLAIN_NAME)
_PLAIN = re.compile(r"[A-Za-z][\w$#]*")


class MemberParser(TokenReader):
    """A member parser parses what follows the colon of a variable."""

    def variable(self) -> Node:
        """Parse what follows a colon."""
        token = self.token
        if token.kind not in (WORD, NAME):
            raise self.refuse("the name of a variable is expected behind the colon")
        self.at += 1
        name = token.text.lower() if token.kind == WORD else token.text
        if name not in self.variables:
            known = ", ".join(f":{one}" for one in self.variables) or "there is none"
            raise ConditionProblem(token.at - 1, f":{name} is no variable of this condition; {known}", "RUL-104")
        variable = self.variables[name]
        if not self.takes("."):
            raise self.refuse(f"{'a member function' if variable.lcr else 'a field'} of :{name} is expected")
        return self.member(name, variable) if variable.lcr else self.field(name, variable)

    def field(self, name: str, variable: Variable) -> Node:
        """Parse the field of a user message."""
        token = self.token
        self.at += 1
        field = token.text if token.kind == NAME else self.case.plain(token.text)
        if token.kind not in (WORD, NAME) or field not in variable.fields:
            known = ", ".join(variable.fields)
            raise ConditionProblem(token.at, f"{variable.type} has no field {field}; it has {known}", "RUL-104")
        return Field(name, field, variable.fields[field])

    def member(self, name: str, variable: Variable) -> Node:
        """Parse a member function of an LCR."""
        token = self.token
        self.at += 1
        called = token.text.lower()
        other = "row" if variable.lcr != ROW else "DDL"
        if called == "get_value":
            if variable.lcr != ROW:
                raise OtherKindOfLcr(token.at, "get_value is a function of row LCRs alone", "RUL-106")
            return self.access(self.column_of(name))
        if called == "get_extra_attribute":
            return self.access(self.extra_attribute(name))
        found = MEMBERS.get(called)
        if found is None:
            known = [*MEMBERS, "get_value", "get_extra_attribute"]
            why = NOT_HERE.get(called) or nearest(called, known) or f"there is {', '.join(known)}"
            raise ConditionProblem(token.at, f"{called} can't be called here: {why}", "RUL-102")
        if variable.lcr not in found.lcrs:
            raise OtherKindOfLcr(token.at, f"{called} is a function of {other} LCRs alone", "RUL-106")
        if not self.is_next("("):
            raise self.refuse(f"write {called}()")
        self.at += 1
        self.need(")")
        return Attribute(name, called, found.kind)

    def column_of(self, variable: str) -> AnyData:
        """Parse the arguments of get_value."""
        self.need("(")
        at = self.token.at
        image = self.constant_text("get_value").upper()
        if image not in ("OLD", "NEW", "*"):
            raise ConditionProblem(at, f"get_value takes 'OLD' or 'NEW' first, not '{image}'")
        if image == "*":
            raise ConditionProblem(at, "get_value takes 'OLD' or 'NEW' first; * is for other functions")
        self.need(",")
        column = self.column_name()
        use_old = True
        if self.takes(","):
            use_old = self.constant_text("get_value").upper() != "N"
        self.need(")")
        return AnyData(variable, Image(image), column, use_old or image == "OLD")

    def column_name(self) -> str:
        """Parse the name of a column, in a text: as it is in double quotes, else in upper case."""
        at = self.token.at
        text = self.constant_text("get_value")
        quoted = _QUOTED.fullmatch(text)
        if quoted is None and not _PLAIN.fullmatch(text):
            raise ConditionProblem(at, f"'{text}' is no name of a column: write '\"NAME\"'")
        return text[1:-1] if quoted else self.case.plain(text)

    def extra_attribute(self, variable: str) -> AnyData:
        """Parse the argument of get_extra_attribute."""
        self.need("(")
        at = self.token.at
        name = self.constant_text("get_extra_attribute").lower()
        if name not in EXTRA_ATTRIBUTES:
            why = nearest(name, EXTRA_ATTRIBUTES) or f"there is {', '.join(EXTRA_ATTRIBUTES)}"
            raise ConditionProblem(at, f"there is no extra attribute {name}: {why}", "RUL-102")
        self.need(")")
        return AnyData(variable, None, name)

    def access(self, of: AnyData) -> Node:
        """Parse the function of ANYDATA that follows, if one does."""
        if not self.takes("."):
            return of
        token = self.token
        self.at += 1
        name = _ACCESS.get(token.text)
        if name is None:
            why = NOT_HERE.get(token.text.lower()) or nearest(token.text, _ACCESS) or f"there is {', '.join(ACCESS)}"
            raise ConditionProblem(token.at, f"{token.text} can't be called here: {why}", "RUL-102")
        found = of.accessed(name)
        if found.kind is not ACCESS[name]:
            raise ConditionProblem(token.at, f"{of.name} is a {found.kind}, and {name} reads another kind", "RUL-103")
        self.need("(")
        self.need(")")
        return found
