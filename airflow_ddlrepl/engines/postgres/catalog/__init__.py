"""This package reads a server's catalog: tables, types, dependent objects and facts."""
