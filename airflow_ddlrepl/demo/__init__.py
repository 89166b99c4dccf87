"""What `make demo` and the tests run on: private servers that need nothing but pip."""
