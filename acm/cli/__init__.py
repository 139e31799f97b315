"""The `acm` command: one module a subcommand, each imported in full only when it runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from acm import __version__
from acm.errors import UsageError

_COMMANDS = ("data", "metrics", "run")


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="acm",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Rerun the experiments of the ACM-GNN paper (Luan et al., 2021).",
        epilog="""\
examples:
  acm data list                                  what graphs there are
  acm data fetch cornell                         download one and check it
  acm metrics cornell                            how heterophilic it is
  acm run --dataset cornell --model ACM-GCN      train one cell of Table 3 and compare

Bad input is answered by one line and exit code 2.""",
    )
    parser.add_argument("--version", action="version", version=f"acm {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        import_module(f"acm.cli.{command}").add_parser(subparsers)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 1 (checks failed), 2 (bad input), 130."""
    args = build_parser().parse_args(arguments)
    try:
        return args.run(args) or 0
    except UsageError as error:
        print(f"acm: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("acm: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output has gone (`acm data list | head`): nothing is wrong.
        sys.stderr.close()
        return 0
