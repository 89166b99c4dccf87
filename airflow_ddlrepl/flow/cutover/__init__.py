"""A cut-over: applications switch from the source to the targets."""
