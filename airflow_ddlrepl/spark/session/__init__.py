"""Spark sessions: how one starts, with which options and files."""
