"""The `acm` command. Each subcommand is one module; its docstring is the text of its help."""

import argparse
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn

from acm import __version__
from acm.errors import UsageError

_COMMANDS = ("data", "metrics", "models", "run", "search")


class Parser(argparse.ArgumentParser):
    """Parse arguments, and raise a `UsageError` for a wrong one."""

    def error(self, message: str) -> NoReturn:
        message = " ".join(message.removeprefix("argument ").split())
        raise UsageError(f"{message} (see `{self.prog} --help`)")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    text = "Rerun the experiments of the ACM-GNN paper. Wrong input gives one line and exit code 2."
    parser = Parser(prog="acm", description=text)
    parser.add_argument("--version", action="version", version=f"acm {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in _COMMANDS:
        module = import_module(f"acm.cli.{name}")  # it imports what it needs only when it runs
        text = module.__doc__
        command = subparsers.add_parser(name, help=text.partition("\n")[0], description=text)
        command.formatter_class = argparse.RawDescriptionHelpFormatter
        module.add_arguments(command)
        command.set_defaults(main=module.main)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return its exit code: 2 after wrong input, 130 after Ctrl-C."""
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:  # closed by `2>&-`: no file of ours may get its number
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
            setattr(sys, name, open(number, "w", closefd=False))
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal without `±` shows `?`
    if arguments is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end_at_once)
        # Otherwise Python's own helper process warns of semaphores after a kill.
        os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning")
    try:
        args = build_parser().parse_args(arguments)
        code = args.main(args) or 0
        if arguments is None:
            signal.signal(signal.SIGINT, _end_at_once)
        sys.stdout.flush()  # an output error is still reported below
        return code
    except UsageError as error:
        return _fail(str(error))
    except KeyboardInterrupt as stop:
        kept = f": {stop.args[0]()}; the same command continues there" if stop.args else ""
        if arguments is None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # one line is enough
        return _fail(f"interrupted{kept}", 130)
    except OSError as error:
        if error.filename is None:  # the interpreter would write the output once more at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        # A broken pipe means that the reader has ended: `acm data list | head`.
        return 0 if isinstance(error, BrokenPipeError) else _fail(str(error))
    except (MemoryError, RuntimeError) as error:
        memory = re.search("(allocate|enough|out of) memory|overflow", str(error), re.IGNORECASE)
        if not memory and not isinstance(error, MemoryError):
            raise
        return _fail("there is not enough memory: try a smaller --hidden or fewer --processes")


def interruptible(kept: Callable[[], str]) -> None:
    """Let the first Ctrl-C from here on raise KeyboardInterrupt; then `kept` says what is kept.

    Before, and at the second Ctrl-C, the process ends at once.
    """

    def interrupt(*_) -> NoReturn:
        signal.signal(signal.SIGINT, _end_at_once)
        raise KeyboardInterrupt(kept)

    if signal.getsignal(signal.SIGINT) is _end_at_once:
        signal.signal(signal.SIGINT, interrupt)


def _end_at_once(*_) -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.write(2, b"acm: interrupted\n")
    os._exit(130)


def _fail(message: str, code: int = 2) -> int:
    print(f"acm: {message}", file=sys.stderr)
    return code
