"""Run the `acm` command. Each subcommand is a module whose docstring is the help text."""

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
    """Parse arguments. A wrong argument raises a `UsageError`."""

    def error(self, message: str) -> NoReturn:
        message = " ".join(message.removeprefix("argument ").split())
        raise UsageError(f"{message} (see `{self.prog} --help`)")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the `acm` command with all subcommands."""
    text = "Rerun the experiments of the ACM-GNN paper. Wrong input ends with exit code 2."
    parser = Parser(prog="acm", description=text)
    parser.add_argument("--version", action="version", version=f"acm {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in _COMMANDS:
        module = import_module(f"acm.cli.{name}")  # quick: PyTorch is imported later, in `main`
        text = module.__doc__
        command = subparsers.add_parser(name, help=text.partition("\n")[0], description=text)
        command.formatter_class = argparse.RawDescriptionHelpFormatter
        module.add_arguments(command)
        command.set_defaults(main=module.main)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the `acm` command and return the exit code: 2 for wrong input, 130 for Ctrl-C."""
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:  # closed by `2>&-`; a store must not get its file number
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
            setattr(sys, name, open(number, "w", closefd=False))
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal that lacks `±` shows `?`
    if arguments is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end_at_once)
        # Otherwise Python's resource tracker prints a warning after the command was killed.
        os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning")
    try:
        args = build_parser().parse_args(arguments)
        code = args.main(args) or 0
        if arguments is None:
            signal.signal(signal.SIGINT, _end_at_once)
        sys.stdout.flush()  # inside `try`, so that an output error is reported
        return code
    except UsageError as error:
        return _fail(str(error))
    except KeyboardInterrupt as stop:
        progress = f": {stop.args[0]()}; run the same command to continue" if stop.args else ""
        if arguments is None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # print the message only once
        return _fail(f"interrupted{progress}", 130)
    except OSError as error:
        if error.filename is None:  # stdout failed; Python must not write to it again at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        # After a broken pipe nobody reads the output, as in `acm data list | head`.
        return 0 if isinstance(error, BrokenPipeError) else _fail(str(error))
    except (MemoryError, RuntimeError) as error:
        memory = re.search("(allocate|enough|out of) memory|overflow", str(error), re.IGNORECASE)
        if not memory and not isinstance(error, MemoryError):
            raise
        return _fail("there is not enough memory: try a smaller --hidden or fewer --processes")


def interruptible(progress: Callable[[], str]) -> None:
    """Make the next Ctrl-C raise a `KeyboardInterrupt`. Its message ends with `progress()`.

    A second Ctrl-C ends the process at once, as does a Ctrl-C before this call.
    """

    def interrupt(*_) -> NoReturn:
        signal.signal(signal.SIGINT, _end_at_once)
        raise KeyboardInterrupt(progress)

    if signal.getsignal(signal.SIGINT) is _end_at_once:
        signal.signal(signal.SIGINT, interrupt)


def _end_at_once(*_) -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.write(2, b"acm: interrupted\n")
    os._exit(130)


def _fail(message: str, code: int = 2) -> int:
    print(f"acm: {message}", file=sys.stderr)
    return code
