"""This module reads the tokens of a condition: signs that belong together are one."""

from __future__ import annotations

from airflow_ddlrepl.sql.lexer import Kind, Word, placed_tokens

_DOUBLE = {("<", ">"): "<>", ("!", "="): "<>", ("<", "="): "<=", (">", "="): ">="}


def tokens(text: str) -> list[Word]:
    """Return the condition's tokens, signs that belong together as one; raise ValueError for a comment."""
    found: list[Word] = []
    after, is_sign = 0, False
    for token, begin, end in placed_tokens(text):
        if text[after:begin].strip():
            raise ValueError("there are no comments in a condition")
        double = _DOUBLE.get((found[-1].text, token.text)) if is_sign and after == begin else None
        if double:
            found[-1], is_sign = Word(Kind.SIGN, double), False
        else:
            found.append(token)
            is_sign = token.kind is Kind.SIGN
        after = end
    if text[after:].strip():
        raise ValueError("there are no comments in a condition")
    if not found:
        raise ValueError("it is empty")
    return found
