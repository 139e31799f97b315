"""The one kind of error that is the user's to mend."""


class UsageError(ValueError):
    """Bad input, said in one line: what was wrong, and what would be right.

    The command line prints the line and exits with code 2; in Python it is a `ValueError`.
    """
