"""This package reads and checks a channel file, and generates its JSON Schema and its reference page."""
