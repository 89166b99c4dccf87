"""These modules net changes: what all of them do together to each row of a target, by its key."""
