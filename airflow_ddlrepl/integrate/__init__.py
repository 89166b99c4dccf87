"""Integrate computes what the changes of a captured log do to a target's rows in all; it knows no database."""
