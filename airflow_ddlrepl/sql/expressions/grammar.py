"""This module parses one expression as PostgreSQL's catalog or a channel file has it, with nothing around it.

Which operator binds closer does not matter here: what an expression calls is the same either way.
"""

from __future__ import annotations

from airflow_ddlrepl.sql.expressions.json_calls import CALLS, json_call
from airflow_ddlrepl.sql.expressions.reader import Found, Reader
from airflow_ddlrepl.sql.expressions.words import Kind, NotOneText

_PREFIX = ("-", "+", "@", "|/", "||/", "~", "!!", "@@", "#", "?-", "?|", "@-@")
_VALUES = {
    "current_date": 15, "current_time": 15, "current_timestamp": 15, "localtime": 15, "localtimestamp": 15,
    "current_user": 15, "current_role": 15, "session_user": 15, "user": 15, "current_catalog": 15,
    "current_schema": 15, "system_user": 16,
}  # fmt: skip
_LISTED = ("coalesce", "nullif", "greatest", "least")
_SPELLED = {"like": ("~~", "!~~"), "in": ("=", "<>"), "between": (">=", "<=", "<", ">")}
_FORMS = ("nfc", "nfd", "nfkc", "nfkd")


def parse(text: str) -> Found:
    """Return what an expression calls and names. Raises NotOneText unless the text is one expression and no more."""
    reader = Reader(text)
    expression(reader)
    reader.end()
    return reader.found


def expression(reader: Reader) -> None:
    """Read an expression as far as it goes."""
    reader.deeper()
    while True:
        operand(reader)
        if not _infix(reader):
            break
    reader.back()


def expressions(reader: Reader, end: str) -> None:
    """Read expressions between commas, none or more, up to a closing bracket, and that."""
    if reader.take(end):
        return
    while True:
        expression(reader)
        if not reader.take(","):
            break
    reader.need(end)


def _infix(reader: Reader) -> bool:
    """Go past what stands between two operands, and return True, where it is there."""
    if reader.word.kind is Kind.OPERATOR:
        reader.found.operators.append(("", reader.next().text))
        if reader.has("any") or reader.has("all"):
            reader.next()
            if not reader.has("("):
                raise NotOneText("has ANY or ALL without parentheses")
        return True
    if _named_operator(reader) or _spelled_operator(reader):
        return True
    return reader.take("and") or reader.take("or") or reader.take("overlaps") or reader.take("at", "time", "zone")


def _spelled_operator(reader: Reader) -> bool:
    """Go past LIKE, IN or BETWEEN, as expressions of a channel file are written: a catalog has their operators."""
    at = 1 if reader.has("not") else 0
    signs = _SPELLED.get(reader.look(at).text) if reader.look(at).kind is Kind.KEYWORD else None
    if signs is None:
        return False
    reader.take("not")
    if reader.next().text == "in" and not reader.has("("):
        raise NotOneText("has IN without parentheses")
    reader.found.operators += [("", sign) for sign in signs]
    reader.found.has_tests = True
    return True


def _named_operator(reader: Reader) -> bool:
    """Go past `OPERATOR(schema.+)`, where it is there."""
    if not (reader.has("operator", "(") and reader.look(2).kind in (Kind.NAME, Kind.QUOTED)):
        return False
    reader.need("operator", "(")
    schema = reader.name()
    reader.need(".")
    if reader.word.kind is not Kind.OPERATOR:
        raise NotOneText(f"has {reader.shown()} where an operator must come")
    reader.found.operators.append(("" if schema == "pg_catalog" else schema, reader.next().text))
    reader.need(")")
    if reader.has("any") or reader.has("all"):
        reader.next()
    return True


def operand(reader: Reader) -> None:
    """Read one operand: a constant, a name, a call or what stands in parentheses, with its casts."""
    while True:
        if reader.word.kind is Kind.OPERATOR and reader.word.text in _PREFIX:
            reader.found.operators.append(("", reader.next().text))
        elif reader.take("not"):
            reader.found.has_tests = True
        elif not _named_operator(reader):
            break
    is_literal = reader.word.kind is Kind.STRING
    _primary(reader)
    while _postfix(reader, is_literal):
        is_literal = False


def _postfix(reader: Reader, is_literal: bool) -> bool:
    """Go past what follows an operand and changes it, where it is there."""
    found = reader.found
    if reader.take("::"):
        (found.literal_types if is_literal else found.types).append(reader.type())
    elif reader.take("collate"):
        found.collations.append(reader.qualified())
    elif reader.take("is"):
        _test(reader)
    elif reader.take("["):
        while not reader.take("]"):
            if not reader.take(":"):
                expression(reader)
    elif reader.has(".") and not is_literal:
        reader.next()
        found.fields.add(reader.name())
    elif reader.take("at", "local"):
        found.has_tests = True
        found.since = max(found.since, 17)
    else:
        return False
    return True


def _test(reader: Reader) -> None:
    """Read what follows IS."""
    reader.found.has_tests = True
    reader.take("not")
    if reader.take("distinct", "from"):
        expression(reader)
        return
    if any(reader.take(word) for word in ("null", "true", "false", "unknown", "document", "normalized")):
        return
    if any(reader.take(form, "normalized") for form in _FORMS):
        return
    reader.need("json")
    reader.found.since = max(reader.found.since, 16)
    _ = any(reader.take(word) for word in ("value", "array", "object", "scalar"))
    if reader.take("with") or reader.take("without"):
        reader.need("unique")
        reader.take("keys")


def _primary(reader: Reader) -> None:
    word = reader.word
    if word.kind in (Kind.STRING, Kind.NUMBER):
        reader.next()
    elif reader.take("("):
        expressions(reader, ")")
    elif word.kind is Kind.KEYWORD:
        _keyword(reader)
    else:
        _name(reader)


def _name(reader: Reader) -> None:
    """Read a column, or a call of a function."""
    name = reader.qualified()
    if reader.take("("):
        reader.found.functions.append(name)
        reader.found.calls.add((name[1], _arguments(reader)))
    elif name[0]:
        raise NotOneText(f"has the name {name[0]}.{name[1]}, which is no function's")
    else:
        reader.found.columns.add(name[1])


def _arguments(reader: Reader) -> int:
    """Read the arguments of a call, and return how many there are."""
    count = 0
    if reader.take(")"):
        return count
    while True:
        count += 1
        reader.take("variadic")
        if reader.is_name() and reader.look(1).text == "=>":
            reader.next()
            reader.next()
        expression(reader)
        if not reader.take(","):
            break
    reader.need(")")
    return count


def _keyword(reader: Reader) -> None:
    word = reader.word.text
    if word in ("true", "false", "null"):
        reader.next()
    elif word in _VALUES:
        reader.next()
        reader.found.values.add(word)
        reader.found.since = max(reader.found.since, _VALUES[word])
        if reader.take("("):
            reader.number()
            reader.need(")")
    elif word == "case":
        _case(reader)
    elif word == "array":
        reader.next()
        reader.need("[")
        _array(reader)
    elif word == "cast":
        _cast(reader)
    elif word == "row" or word in _LISTED:
        reader.found.sorts = reader.found.sorts or word in ("greatest", "least")
        reader.next()
        reader.need("(")
        expressions(reader, ")")
    elif word in CALLS:
        json_call(reader, expression)
    else:
        _special(reader, word)


def _cast(reader: Reader) -> None:
    """Read `CAST(x AS type)`, as expressions of a channel file are written."""
    reader.need("cast", "(")
    expression(reader)
    reader.need("as")
    reader.found.types.append(reader.type())
    reader.need(")")


def _array(reader: Reader) -> None:
    """Read the elements of an array; one of more dimensions may be written without the word ARRAY inside."""
    if reader.take("]"):
        return
    while True:
        if reader.take("["):
            reader.deeper()
            _array(reader)
            reader.back()
        else:
            expression(reader)
        if not reader.take(","):
            break
    reader.need("]")


def _case(reader: Reader) -> None:
    reader.need("case")
    if not reader.has("when"):
        expression(reader)
    if not reader.has("when"):
        raise NotOneText("has a CASE without WHEN")
    while reader.take("when"):
        expression(reader)
        reader.need("then")
        expression(reader)
    if reader.take("else"):
        expression(reader)
    reader.need("end")


def _special(reader: Reader, word: str) -> None:
    """Read a call that SQL writes with keywords between its arguments."""
    if word not in _SPECIAL:
        raise NotOneText(f"has {reader.shown()} where an expression must come")
    reader.next()
    function, between = _SPECIAL[word]
    reader.found.functions.append(("", function))
    if word == "collation":
        reader.need("for")
    reader.need("(")
    if word == "extract":
        if reader.word.kind not in (Kind.NAME, Kind.QUOTED):
            raise NotOneText(f"has {reader.shown()} where a field must come")
        reader.next()
        reader.need("from")
    if word == "trim":
        _ = any(reader.take(side) for side in ("both", "leading", "trailing"))
        reader.take("from")
    expression(reader)
    while not reader.take(")"):
        if reader.take(",") and any(reader.take(form) for form in _FORMS):
            continue
        if not any(reader.take(one) for one in between):
            raise NotOneText(f"has {reader.shown()} in {word}")
        expression(reader)


_SPECIAL = {
    "extract": ("extract", ()),
    "substring": ("substring", ("from", "for", "similar", "escape")),
    "position": ("position", ("in",)),
    "overlay": ("overlay", ("placing", "from", "for")),
    "trim": ("btrim", ("from",)),
    "normalize": ("normalize", ()),
    "collation": ("pg_collation_for", ()),
}
"""By keyword: the function that it calls, and the keywords between its arguments."""
