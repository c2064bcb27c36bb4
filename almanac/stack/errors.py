"""What stops the stack from doing what it was told."""


class StackError(Exception):
    """One sentence that says what was wrong and what to do."""


class AlreadyRunningError(StackError):
    """Another supervisor holds this data folder."""
