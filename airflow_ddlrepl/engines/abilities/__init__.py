"""This package has the abilities that only some kinds of database have, each with its port; see `engines.ability`."""
