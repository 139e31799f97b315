"""`acm data`: which graphs there are, and whether their files are at hand and sound."""

from __future__ import annotations

import argparse

from acm.data.names import DATASETS


def add_parser(subparsers) -> None:
    """Register `acm data list|fetch|verify`."""
    parser = subparsers.add_parser(
        "data",
        help="list, fetch and verify the graphs",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="The raw data: what there is, download it, check it.",
        epilog="""\
environment:
  ACM_DATA_MIRROR   a folder or http(s) address to read from instead of the public one
  ACM_DATA_CACHE    the folder of downloaded files
  ACM_DATA_TIMEOUT  seconds of silence, or of less than 1 kB each, after which a server counts as
                    stalled (20)""",
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    for name, run, text in (
        ("list", _list, "names, what they are, and whether they are at hand"),
        ("fetch", _fetch, "download what is missing, checked against the registry"),
        ("verify", _verify, "check every raw file; exit code 1 if one is missing or damaged"),
    ):
        action = actions.add_parser(name, help=text, description=f"{text.capitalize()}.")
        action.set_defaults(run=run)
        if name != "list":
            action.add_argument(
                "names", nargs="*", metavar="NAME", help="names of data sets (default: all)"
            )


def _list(args) -> None:
    from acm.data.files import available

    width = max(map(len, DATASETS))
    for name, dataset in DATASETS.items():
        print(
            f"{name:{width}}  {'at hand' if available(name) else '  -    '}  {dataset.description}"
        )


def _fetch(args) -> None:
    from acm.data.files import fetch

    for name in args.names or DATASETS:
        fetch([name])
        print(f"{name}: at hand")


def _verify(args) -> int:
    from acm.data.files import mirror_folder, verify

    bad = 0
    for status in verify(args.names or None):
        if status.state == "ok":
            print(f"ok       {status.file.dataset}  {status.file.path}")
            continue
        bad += 1
        found = (
            ""
            if status.state == "missing"
            else (
                f"  {status.found_size} bytes, sha256 {status.found_sha256}; expected"
                f" {status.file.size} bytes, sha256 {status.file.sha256}"
            )
        )
        print(f"{status.state:8} {status.file.dataset}  {status.file.path}{found}")
    if not bad:
        print("every file is as the registry has it")
    elif mirror_folder():
        print(f"{bad} missing or damaged: correct the files in ACM_DATA_MIRROR")
    else:
        print(f"{bad} missing or damaged: `acm data fetch` downloads them")
    return int(bad > 0)
