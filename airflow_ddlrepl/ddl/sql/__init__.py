"""This package reads SQL texts of the source: tokens, statements, expressions."""
