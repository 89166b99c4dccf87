"""This package is `ddlrepl init`: it looks at a source and a target, and proposes a channel file."""
