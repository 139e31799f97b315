"""The one kind of error that is the user's to mend."""

from collections.abc import Iterable


class UsageError(ValueError):
    """Bad input, said in one line: what was wrong, and what would be right.

    The command line prints the line and exits with code 2; in Python it is a `ValueError`.
    """


def unknown(kind: str, name: object, valid: Iterable[str], where: str = "") -> UsageError:
    """The error of a name that is not among the valid ones: it names the nearest, and all.

    Args:
        kind: What the name should have been one of, in the singular: "model".
        name: What was given.
        valid: What could have been given.
        where: What else to say of the place, after the name.
    """
    import difflib  # only a refusal needs it

    spelling = {v.casefold(): v for v in valid}
    near = difflib.get_close_matches(str(name).casefold(), spelling, n=1)
    hint = f" (did you mean {spelling[near[0]]}?)" if near else ""
    kinds = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    return UsageError(
        f"unknown {kind} {str(name)!r}{where}{hint}: the {kinds} are {', '.join(spelling.values())}"
    )
