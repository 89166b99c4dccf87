"""Code tells errors apart by their classes: by no code, by no word of a message, and nobody pins facts onto one."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from airflow_ddlrepl import errors
from docs.tools import product_code
from docs.tools.product_code import Module

pytestmark = pytest.mark.xdist_group("product_read")  # one process reads the product, not each

CODE = re.compile(r"[A-Z]{3}-\d{3}")
BY_TEXT = {"startswith", "endswith", "partition", "rpartition", "split", "find", "index"}
PATTERNS = {"match", "fullmatch", "search", "findall"}
EXCEPT = {
    # Codes of a cut-over's conditions, which a person accepts by them; no errors.
    "airflow_ddlrepl/flow/cutover/condition.py: self.code in DONE_BY_CUT_OVER",
    "airflow_ddlrepl/flow/cutover/condition.py: one.code not in known",
    "airflow_ddlrepl/operators/cutover.py: condition['code'] not in self.accepted",
    # What an earlier version has stored without a class.
    "airflow_ddlrepl/model/table_state.py: _BEFORE_CAUSES.get(data['code'], Cause.REFUSED)",
    "airflow_ddlrepl/repository/migrations/versions/0012_kinds_of_errors.py: errors.c.code.startswith(f'{family}-')",
    "airflow_ddlrepl/repository/migrations/versions/0012_kinds_of_errors.py: one.get('code') == _SUSPENDED",
}


def test_nothing_is_decided_by_the_code_of_an_error() -> None:
    assert sorted(set(found_in_product(by_code)) ^ EXCEPT) == []


def test_nothing_is_decided_by_the_words_of_an_error() -> None:
    assert list(found_in_product(by_words)) == []


def test_no_attribute_is_pinned_onto_an_exception() -> None:
    assert list(found_in_product(pinned)) == []


@pytest.mark.parametrize(
    ("check", "text"),
    [
        ("code", "if error.code == 'SRC-116': pass"),
        ("code", "if error.code not in LOST: pass"),
        ("code", "LOST = 'SRC-116'\nif found == LOST: pass"),
        ("code", "if error.code.startswith('SRC-'): pass"),
        ("code", "if error.code[:3] == 'SRC': pass"),
        ("code", "if failure['code'] != SUSPENDED: pass"),
        ("code", "if failure.get('code') != SUSPENDED: pass"),
        ("code", "if getattr(error, 'code', '') in known: pass"),
        ("code", "match error.code:\n    case 'SRC-116': pass"),
        ("code", "match found:\n    case 'SRC-116': pass"),
        ("code", "HINTS.get(error.code)"),
        ("code", "HINTS[error.code]"),
        ("code", "re.match('SRC', error.code)"),
        ("words", "if 'is missing' in error.message: pass"),
        ("words", "if error.hint.startswith('grant'): pass"),
        ("words", "re.search('missing', error.message)"),
        ("pinned", "try: pass\nexcept SourceError as found:\n    found.table = 't'"),
        ("pinned", "try: pass\nexcept SourceError as found:\n    found.message += 't'"),
        ("pinned", "found = SourceError('x', code='SRC-101')\nfound.table = 't'"),
        ("pinned", "if (found := explained(other)) is not None:\n    found.table = 't'"),
        ("pinned", "def f(found: DdlReplError | None) -> None:\n    found.table = 't'"),
        ("pinned", "def f(many: Sequence[DdlReplError]) -> None:\n    for one in many:\n        one.table = 't'"),
        ("pinned", "def f(many: Sequence[DdlReplError]) -> None:\n    many[0].table = 't'"),
        ("pinned", "def f(error: Any) -> None:\n    setattr(error, NAME, 't')"),
        ("pinned", "def f(error: Any) -> None:\n    error.__dict__['a'] = 't'"),
        ("pinned", "def f(error: Any) -> None:\n    error.a, error.b = 1, 2"),
        ("pinned", "class Own(SourceError):\n    pass\nfound = Own()\nfound.table = 't'"),
    ],
)
def test_these_checks_see_what_they_look_for(check: str, text: str) -> None:
    module = Module("planted", text)
    looks = {"code": by_code, "words": by_words, "pinned": pinned}
    assert [name for name, look in looks.items() if list(look(module))] == [check]


@pytest.mark.parametrize(
    "text",
    [
        "log.warning('%s', error.code)",
        "if one.code is Code.TARGET: pass",
        "if (self.code, self.why) == (other.code, other.why): pass",
        "raise error.replaced(code=error.code)",
        "def f(done: Applied) -> None:\n    done.statements += 1",
        "class Own(SourceError):\n    def about(self) -> None:\n        self.table = 't'",
        "if rule.error == code: pass",
    ],
)
def test_these_checks_let_other_code_pass(text: str) -> None:
    module = Module("planted", text)
    assert [*by_code(module), *by_words(module), *pinned(module)] == []


KINDS = frozenset({*errors.__all__, "BaseException", "Exception"} - {"Exit", "identified"})
Found = Iterator[ast.AST]


def found_in_product(look: Callable[[Module], Found]) -> Iterator[str]:
    for module in product_code.modules():
        yield from (f"{module.name}: {ast.unparse(node)}" for node in look(module))


def by_code(module: Module) -> Found:
    """Comparisons, matches, look-ups and texts cut by the code of an error."""
    constants = constant_codes(module)
    yield from decided(module, lambda node: is_code(node, constants))


def by_words(module: Module) -> Found:
    """Comparisons and searches in the message or the hint of an error, but by itself."""

    def is_text_of_error(node: ast.expr) -> bool:
        return isinstance(node, ast.Attribute) and node.attr in ("message", "hint") and not is_self(node.value)

    yield from (node for node in decided(module, is_text_of_error) if not isinstance(node, ast.Match))


def decided(module: Module, is_it: Callable[[ast.expr], bool]) -> Found:
    for node in module.nodes(ast.Compare, ast.Match, ast.Call, ast.Subscript):
        match node:
            case ast.Compare(left, operators, others) if not isinstance(operators[0], ast.Is | ast.IsNot):
                sides = [side for side in (left, *others) if any(is_it(part) for part in parts(side))]
                if sides and not is_of_two(left, others) and not any(is_member(one) for one in (left, *others)):
                    yield node
            case ast.Match(subject, cases):
                values = [p.value for c in cases for p in ast.walk(c.pattern) if isinstance(p, ast.MatchValue)]
                if is_it(subject) or any(map(is_it, values)):
                    yield node
            case ast.Call(ast.Attribute(of, attr), arguments):
                looks_up = attr in PATTERNS or (attr == "get" and bool(arguments) and not is_text(arguments[0]))
                if (attr in BY_TEXT and is_it(of)) or (looks_up and any(map(is_it, arguments))):
                    yield node
            case ast.Subscript(_, key) if is_it(key) and isinstance(node.ctx, ast.Load):
                yield node


def is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant)


def is_of_two(left: ast.expr, others: list[ast.expr]) -> bool:
    """Are facts of one error compared with the same facts of another one?"""
    attributes = [[part.attr for part in parts(side) if isinstance(part, ast.Attribute)] for side in (left, *others)]
    return bool(attributes[0]) and all(one == attributes[0] for one in attributes)


def parts(side: ast.expr) -> list[ast.expr]:
    inner = list(side.elts) if isinstance(side, ast.Tuple | ast.Set | ast.List) else [side]
    return [one.value if isinstance(one, ast.Subscript) and not is_key(one, "code") else one for one in inner]


def is_code(node: ast.expr, constants: set[str]) -> bool:
    match node:
        case ast.Attribute(of, "code"):
            return not (isinstance(of, ast.Attribute) and of.attr == "parameters")  # a key of the channel file
        case ast.Constant(str(value)):
            return CODE.fullmatch(value) is not None
        case ast.Name(name):
            return name in constants
        case ast.Call(ast.Attribute(_, "get"), [ast.Constant("code"), *_]):
            return True
        case ast.Call(ast.Name("getattr"), [_, ast.Constant("code"), *_]):
            return True
    return is_key(node, "code")


def is_key(node: ast.expr, key: str) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == key


def is_member(node: ast.expr) -> bool:
    """Is it a member of an enumeration, such as `Code.TARGET`?"""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id[0].isupper()


@cache
def own_constants() -> dict[str, set[str]]:
    return {module.name: assigned_codes(module) for module in product_code.modules()}


def constant_codes(module: Module) -> set[str]:
    """Names of the module, and those that it imports, that stand for one code or several."""
    found = assigned_codes(module)
    for node in module.nodes(ast.ImportFrom):
        if node.module:
            file = node.module.replace(".", "/")
            known = own_constants().get(f"{file}.py", set()) | own_constants().get(f"{file}/__init__.py", set())
            found |= {one.asname or one.name for one in node.names if one.name in known}
    return found


def assigned_codes(module: Module) -> set[str]:
    found = set()
    for node in module.tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts))
            for name, one in pairs:
                texts = [p.value for p in parts(one) if isinstance(p, ast.Constant) and isinstance(p.value, str)]
                if isinstance(name, ast.Name) and texts and all(CODE.fullmatch(text) for text in texts):
                    found.add(name.id)
    return found


def pinned(module: Module) -> Found:
    """Assignments to attributes of exceptions from outside their classes."""
    known = exceptions_of(module)

    def is_exception(node: ast.expr) -> bool:
        if isinstance(node, ast.Subscript):
            return is_exception(node.value)
        if isinstance(node, ast.Attribute):
            return node.attr == "__dict__" and is_exception(node.value)
        return isinstance(node, ast.Name) and node.id in known

    nodes: Iterator[ast.Attribute | ast.Subscript] = module.nodes(ast.Attribute, ast.Subscript)
    for node in nodes:
        is_set = isinstance(node.ctx, ast.Store) and (isinstance(node, ast.Attribute) or is_dict(node.value))
        if is_set and is_exception(node.value):
            yield node
    yield from (node for node in module.nodes(ast.Call) if is_setattr(node) and is_exception(node.args[0]))


def is_setattr(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "setattr"


def is_dict(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "__dict__"


def exceptions_of(module: Module) -> set[str]:
    """Names of a module that stand for exceptions, or lists of them, somewhere in it."""
    kinds = kinds_of(module)
    makers = makers_of_product()
    found = {"error", "trouble", "exception"}
    for node in module.nodes(ast.ExceptHandler, ast.arg, ast.Assign, ast.NamedExpr):
        match node:
            case ast.ExceptHandler(name=str(name)):
                found.add(name)
            case ast.arg(name, annotation) if says(annotation, kinds):
                found.add(name)
            case ast.Assign([ast.Name(name)], value) | ast.NamedExpr(ast.Name(name), value):
                if makes(value, kinds | makers):
                    found.add(name)
    for node in module.nodes(ast.For):
        match node:
            case ast.For(ast.Name(name), ast.Name(many)) if many in found:
                found.add(name)
    return found


@cache
def makers_of_product() -> frozenset[str]:
    """Names of functions that return an error."""
    found: dict[str, bool] = {}
    for _, node in product_code.nodes(ast.FunctionDef):
        found[node.name] = says(node.returns, KINDS) and found.get(node.name, True)
    return frozenset(name for name, makes_one in found.items() if makes_one)


def kinds_of(module: Module) -> frozenset[str]:
    classes = module.nodes(ast.ClassDef)
    return KINDS | {one.name for one in classes if any(isinstance(b, ast.Name) and b.id in KINDS for b in one.bases)}


def says(annotation: ast.expr | None, kinds: frozenset[str]) -> bool:
    """Does an annotation say that it is an error, or a list of errors? A mapping or a type has other attributes."""
    if annotation is None:
        return False
    texts = [annotation.value] if isinstance(annotation, ast.Constant) else []
    names = {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)} | set(texts)
    return bool(names & kinds) and not names & {"type", "tuple", "Callable", "Iterator"}


def makes(value: ast.expr, makers: frozenset[str]) -> bool:
    name = value.func if isinstance(value, ast.Call) else None
    last = name.id if isinstance(name, ast.Name) else name.attr if isinstance(name, ast.Attribute) else ""
    return last in makers
