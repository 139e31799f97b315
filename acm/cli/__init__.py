"""The `acm` command: one module a subcommand, each imported in full only when it runs."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from types import FrameType

from acm import __version__
from acm.cli.run import FAULT, Parser, is_memory
from acm.errors import UsageError

_COMMANDS = ("data", "metrics", "models", "run", "search")


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = Parser(
        prog="acm",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Rerun the experiments of the ACM-GNN paper (Luan et al., 2021).",
        epilog="""\
examples:
  acm data list                                  what graphs there are
  acm data fetch cornell                         download one and check it
  acm metrics cornell                            how heterophilic it is
  acm models                                     what models there are
  acm run --dataset cornell --model ACM-GCN      train one cell of Table 3 and compare
  acm search --dataset texas --model GCN         choose hyperparameters by validation

Bad input is answered by one line and exit code 2.""",
    )
    parser.add_argument("--version", action="version", version=f"acm {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        import_module(f"acm.cli.{command}").add_parser(subparsers)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 1 (checks failed), 2 (bad input), 130."""
    if hasattr(sys.stdout, "reconfigure"):
        # A terminal that knows no `±` shows `?` instead.
        sys.stdout.reconfigure(errors="replace")
    if arguments is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        try:
            args = build_parser().parse_args(arguments)
            return args.run(args) or 0
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()  # here a fault of the output can still be said
    except UsageError as error:
        print(f"acm: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as stop:
        if arguments is None:  # only the line that says so is left
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            _end_workers()
        print(f"acm: {str(stop) or 'interrupted'}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output has gone (`acm data list | head`): nothing is wrong.
        _discard_output()
        return 0
    except (OSError, MemoryError, RuntimeError) as error:
        if isinstance(error, OSError) and error.filename is None:
            fault = f"cannot write the output: {error.strerror or error}"
            _discard_output()
        elif isinstance(error, OSError):
            fault = str(error)
        elif is_memory(error):
            fault = FAULT
        else:
            raise
        print(f"acm: {fault}", file=sys.stderr)
        return 2


def _interrupt(_, frame: FrameType | None) -> None:
    """Ctrl-C: what runs is told to stop, which takes as long as an epoch."""
    if _imports(frame):  # modules half made would give errors of their own
        _insist()
    signal.signal(signal.SIGINT, _insist)
    raise KeyboardInterrupt


def _end_workers() -> None:
    """See to it that nothing is started any more, if anything has been."""
    if workers := sys.modules.get("acm.experiments.workers"):
        with contextlib.suppress(AttributeError):  # half imported it has started nothing
            workers.end_server()


def _imports(frame: FrameType | None) -> bool:
    """Whether that is inside of an import."""
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame is not None


def _insist(*_) -> None:
    """Ctrl-C again, or in an import: end at once. What is in the store stays, as after a kill."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a third would come between line and end
    _end_workers()
    os.write(2, b"acm: interrupted\n")
    os._exit(130)


def _discard_output() -> None:
    """Keep the interpreter from writing, at its end, what could not be written."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
