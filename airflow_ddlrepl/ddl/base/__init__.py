"""This package has what every kind of schema change builds on: its base class, and edits of table shapes."""
