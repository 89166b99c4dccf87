"""This package does what the procedures of Oracle Streams do: it makes rules, rule sets and clients."""
