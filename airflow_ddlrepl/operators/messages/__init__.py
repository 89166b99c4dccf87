"""Texts that operators write for people."""
