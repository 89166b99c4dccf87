"""This package says of the clients of Oracle Streams where they are, and how much waits for them."""
