"""This package reads and writes a server's sequences, and the defaults that draw from them."""
