"""`acm data`: list, download and check the graphs."""

from __future__ import annotations

import argparse

from acm.data.names import DATASETS


def add_parser(subparsers) -> None:
    """Add `acm data list|fetch|verify` to the command line."""
    parser = subparsers.add_parser(
        "data",
        help="list, fetch and verify the graphs",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="List the raw data, download it, or check it.",
        epilog="""\
environment:
  ACM_DATA_MIRROR   a folder or http(s) address to read from instead of the public one
  ACM_DATA_CACHE    the folder of downloads""",
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    for name, function, text in (
        ("list", _list, "list the graphs, and say whether their files are available"),
        ("fetch", _fetch, "download missing files, and check them against the registry"),
        ("verify", _verify, "check every raw file; exit code 1 if one is missing or damaged"),
    ):
        action = actions.add_parser(name, help=text, description=f"{text.capitalize()}.")
        action.set_defaults(main=function)
        if name != "list":
            action.add_argument("names", nargs="*", metavar="NAME", help="graphs (default: all)")


def _list(args) -> None:
    from acm.data.files import available

    width = max(map(len, DATASETS))
    for name, dataset in DATASETS.items():
        state = "available" if available(name) else "-"
        print(f"{name:{width}}  {state:9}  {dataset.description}")


def _fetch(args) -> None:
    from acm.data.files import fetch

    for name in args.names or DATASETS:
        fetch([name])
        print(f"{name}: available")


def _verify(args) -> int:
    from acm.data.files import mirror_folder, verify

    bad = 0
    for status in verify(args.names or None):
        line = f"{status.state:8} {status.file.dataset}  {status.file.path}"
        if status.state != "ok":
            bad += 1
        print(line)
    if not bad:
        print("every file agrees with the registry")
        return 0
    advice = "`acm data fetch` downloads them"
    if mirror_folder():
        advice = "correct the files in ACM_DATA_MIRROR"
    print(f"{bad} file{'s are' if bad > 1 else ' is'} missing or damaged: {advice}")
    return 1
