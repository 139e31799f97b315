"""How the command line reads its options: what is wrong with one is said in one line."""

from __future__ import annotations

import argparse
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """A parser whose refusals are one line and exit code 2, like every other refusal of `acm`."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where more stands, instead of the usage."""
        # In the standard words an option stands behind the word "argument".
        said = " ".join(message.removeprefix("argument ").split())
        self.exit(2, f"acm: {said} (`{self.prog} --help` tells more)\n")


def whole(text: str) -> int:
    """The type of an option that takes a whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: a whole number is needed") from None


def number(text: str) -> float:
    """The type of an option that takes a number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: a number is needed") from None
