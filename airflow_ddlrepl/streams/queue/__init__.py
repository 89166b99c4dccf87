"""This package has what is in a queue of Oracle Streams here, and what a client does with it by its rules."""
