"""The `acm` command. Each subcommand is one module, which is imported in full only when it runs."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import NoReturn

from acm import __version__
from acm.errors import UsageError

_COMMANDS = ("data", "metrics", "models", "run", "search")
_MEMORY = ("allocate memory", "enough memory", "out of memory", "overflow")


class Parser(argparse.ArgumentParser):
    """Parse arguments, and answer a wrong one with one line and exit code 2."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong, without the usage."""
        message = " ".join(message.removeprefix("argument ").split())
        self.exit(2, f"acm: {message} (see `{self.prog} --help`)\n")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = Parser(
        prog="acm",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Rerun the experiments of the ACM-GNN paper (Luan et al., 2021).",
        epilog="""\
examples:
  acm data list                                  list the graphs
  acm data fetch cornell                         download a graph and check its files
  acm metrics cornell                            measure its homophily
  acm models                                     list the models
  acm run --dataset cornell --model ACM-GCN      train one cell of Table 3 and compare
  acm search --dataset texas --model GCN         choose hyperparameters by validation

Wrong input gives one line and exit code 2.""",
    )
    parser.add_argument("--version", action="version", version=f"acm {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        import_module(f"acm.cli.{command}").add_parser(subparsers)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return its exit code.

    Args:
        arguments: The words after `acm`; by default those of this process.

    Returns:
        0, or 1 if a check failed, 2 after wrong input, 130 after Ctrl-C.
    """
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal without `±` shows `?`
    if arguments is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end_at_once)
        # Otherwise Python's own helper process warns of semaphores after a kill.
        os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning")
    try:
        try:
            args = build_parser().parse_args(arguments)
            return args.main(args) or 0
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # an output error is still reported below
    except UsageError as error:
        return _fail(str(error))
    except KeyboardInterrupt as stop:
        if arguments is None:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # one line is enough
        print(f"acm: {str(stop) or 'interrupted'}", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of the output has ended, as in `acm data list | head`
        _discard_output()
        return 0
    except OSError as error:
        if error.filename is not None:
            return _fail(str(error))
        _discard_output()
        return _fail(f"cannot write the output: {error.strerror or error}")
    except (MemoryError, RuntimeError) as error:
        text = str(error).lower()
        if isinstance(error, RuntimeError) and not any(words in text for words in _MEMORY):
            raise
        return _fail("there is not enough memory: try a smaller --hidden or fewer --processes")


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let the first Ctrl-C inside the block raise KeyboardInterrupt, so that work can be counted.

    Outside such a block, and at the second Ctrl-C, the process ends at once.
    """
    if signal.getsignal(signal.SIGINT) is not _end_at_once:
        yield
        return

    def interrupt(*_) -> NoReturn:
        signal.signal(signal.SIGINT, _end_at_once)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _end_at_once)


def _end_at_once(*_) -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.write(2, b"acm: interrupted\n")
    os._exit(130)


def _fail(message: str) -> int:
    print(f"acm: {message}", file=sys.stderr)
    return 2


def _discard_output() -> None:
    """Redirect standard output to nowhere, so that the interpreter does not write it at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
