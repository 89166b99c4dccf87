"""This package runs private servers that need nothing but pip, for `make demo` and the tests."""
