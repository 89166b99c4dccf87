"""One module per section of the channel file."""
