"""These modules are steps by which captured changes become those that a target takes, each a function over Arrow."""
