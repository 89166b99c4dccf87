"""The DAGs of a channel, one file each; `build` makes those that a channel file asks for."""
