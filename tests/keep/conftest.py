"""What the tests of the three doors share."""

from doorway import doors, jail, parser, scanner

__all__ = ["doors", "jail", "parser", "scanner"]
