"""Find the errors that the product raises in its code: each with its code, message, hint and module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from docs.tools import product_code
from docs.tools.product_code import Module

LISTING = "airflow_ddlrepl/errors/codes/"
"""Where the codes are listed: nothing is raised there."""
CODE = re.compile(r"[A-Z]{3}-\d{3}")


@dataclass(frozen=True)
class Site:
    """One place that raises an error. message, hint: `‹name›` stands for a value; empty: the place has none.

    kind: the class that is called there; empty: it is not seen there.
    """

    code: str
    message: str
    hint: str
    module: str
    kind: str = ""


@dataclass(frozen=True)
class _Module:
    """A module with the texts and codes that its names stand for."""

    code: Module
    values: Mapping[str, list[ast.expr]]

    @property
    def name(self) -> str:
        return self.code.name

    @property
    def dotted(self) -> str:
        return self.name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def sites() -> tuple[Site, ...]:
    """Return every place of the product that names the code of an error, in the order of codes and files."""
    modules = [_Module(one, _values(one)) for one in product_code.modules() if not one.name.startswith(LISTING)]
    texts = {f"{module.dotted}.{name}": values[0] for module in modules for name, values in module.values.items()}
    modules = [replace(module, values={**module.values, **_imported(module, texts)}) for module in modules]
    found = {site for module in modules for site in _sites(module)}
    found |= {site for module in modules for site in _defined(module)}
    told = {site.code for site in found if site.message}
    return tuple(
        sorted((s for s in found if s.message or s.code not in told), key=lambda s: (s.code, s.module, s.message))
    )


def _values(code: Module) -> dict[str, list[ast.expr]]:
    values: dict[str, list[ast.expr]] = {}
    for node in code.nodes(ast.Assign):
        for target in node.targets:
            for name, value in _assigned(target, node.value):
                values.setdefault(name, []).append(value)
    return values


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for one, its in zip(target.elts, value.elts, strict=True):
            yield from _assigned(one, its)


def _imported(module: _Module, texts: Mapping[str, ast.expr]) -> dict[str, list[ast.expr]]:
    """Return the values of constants that the module imports from another one."""
    names = [
        (alias.asname or alias.name, f"{node.module}.{alias.name}")
        for node in module.code.nodes(ast.ImportFrom)
        for alias in node.names
    ]
    return {name: [texts[full]] for name, full in names if full in texts}


def _sites(module: _Module) -> Iterator[Site]:
    for node in module.code.nodes(ast.Constant):
        if (code := _code(node)) and not isinstance(module.code.parents[node], ast.Compare | ast.Assign):
            yield _site(module, node, code)
    for name in module.code.nodes(ast.Name):
        values = module.values.get(name.id, []) if name.id.isupper() and isinstance(name.ctx, ast.Load) else []
        code = _code(values[0]) if len(values) == 1 else ""
        if code and isinstance(module.code.parents[name], ast.keyword | ast.Call):
            yield _site(module, name, code)


def _defined(module: _Module) -> Iterator[Site]:
    """Yield the codes that the module gives a name to, such as the members of an enumeration."""
    for node in module.code.nodes(ast.Assign):
        if code := _code(node.value):
            yield Site(code, "", "", module.name)


def _site(module: _Module, node: ast.AST, code: str) -> Site:
    around = module.code.parents[node]
    if isinstance(around, ast.keyword):
        call = module.code.parents[around]
        assert isinstance(call, ast.Call)
        named = {one.arg: one.value for one in call.keywords}
        says = [*call.args, *(named[name] for name in ("why", "what", "message") if name in named)]
        message = next((text for one in says if " " in (text := _text(module, one, node))), "")
        hint = _text(module, named["hint"], node) if "hint" in named else ""
        return Site(code, message, hint, module.name, call.func.id if isinstance(call.func, ast.Name) else "")
    texts = [text for part in _beside(around, node) if " " in (text := _text(module, part, node))]
    return Site(code, "".join(texts[:1]), "".join(texts[1:2]), module.name)


def _beside(around: ast.AST, node: ast.AST) -> list[ast.expr]:
    """Return the values that stand in the same call or tuple as a code, those after it first."""
    if isinstance(around, ast.Call):
        parts = [*around.args, *(one.value for one in around.keywords)]
    elif isinstance(around, ast.Tuple):
        parts = list(around.elts)
    else:
        return []
    at = next((n for n, part in enumerate(parts) if part is node), 0)
    return [*parts[at + 1 :], *parts[:at]]


def _text(module: _Module, part: ast.expr, near: ast.AST) -> str:
    """Return the text of an expression, with `‹name›` for what is only known when the error is raised."""
    if isinstance(part, ast.Constant):
        return part.value if isinstance(part.value, str) else ""
    if isinstance(part, ast.JoinedStr):
        return "".join(_text(module, one, near) for one in part.values)
    if isinstance(part, ast.FormattedValue):
        is_constant = isinstance(part.value, ast.Name) and part.value.id.lstrip("_").isupper()
        return (_text(module, part.value, near) if is_constant else "") or _value(part.value)
    if isinstance(part, ast.IfExp):
        return _text(module, part.body, near) or _text(module, part.orelse, near)
    if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add):
        return _text(module, part.left, near) + _text(module, part.right, near)
    if isinstance(part, ast.BoolOp):
        return next((text for one in part.values if (text := _text(module, one, near))), "")
    if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "format":
        return re.sub(r"\{(\w*)[^}]*\}", lambda found: f"‹{found[1] or '…'}›", _text(module, part.func.value, near))
    if isinstance(part, ast.Name):
        line = getattr(near, "lineno", 0)
        values = [one for one in module.values.get(part.id, []) if one is not part]
        before = [one for one in values if one.lineno <= line] or values[:1]
        return _text(module, max(before, key=lambda one: one.lineno), before[-1]) if before else ""
    return ""


def _value(part: ast.expr) -> str:
    """Return the place holder of a value: the last of its names."""
    if isinstance(part, ast.Constant):
        return str(part.value)
    if isinstance(part, ast.Name):
        return f"‹{part.id}›"
    if isinstance(part, ast.Attribute):
        return f"‹{part.attr}›"
    if isinstance(part, ast.Call) and part.args and not part.keywords:
        return _value(part.args[0])
    return "‹…›"


def _code(node: ast.AST) -> str:
    """Return the code that a node is; empty: it is something else."""
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) and CODE.fullmatch(value) else ""
