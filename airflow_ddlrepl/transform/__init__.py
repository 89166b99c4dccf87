"""Transform turns the source's shape of a table into the shape that the channel file wants at a target."""
