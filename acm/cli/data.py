"""List the graphs, download their files, or check these.

fetch downloads missing files, and checks them against the registry of sizes and checksums.
verify checks all files, and ends with exit code 1 if one is missing or damaged.

environment:
  ACM_DATA_MIRROR   a folder or http(s) address to read from instead of the public one
  ACM_DATA_CACHE    the folder of downloads and parsed graphs
  ACM_DATA_TIMEOUT  seconds without data after which a download fails (20)
"""

from acm.data.names import DATASETS, dataset


def add_arguments(parser) -> None:
    """Add the action and the graphs."""
    parser.add_argument("action", choices=("list", "fetch", "verify"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="graphs (default: all)")


def main(args) -> int:
    """List, fetch or verify some graphs."""
    from acm.data.files import available, fetch

    if args.action == "verify":
        return _verify(args.names)
    for name in args.names or DATASETS:
        if args.action == "fetch":
            fetch([name])
        state = "available" if available(name) else "-"
        print(f"{name:18}  {state:9}  {dataset(name).description}")
    return 0


def _verify(names: list[str]) -> int:
    from acm.data.files import mirror_folder, verify

    bad = 0
    for status in verify(names or None):
        file = status.file
        line = f"{status.state:8} {file.dataset}  {file.path}"
        if status.state not in ("ok", "missing"):
            line += f"  {status.found_size} bytes, sha256 {status.found_sha256};"
            line += f" expected {file.size} bytes, sha256 {file.sha256}"
        bad += status.state != "ok"
        print(line)
    if not bad:
        print("every file agrees with the registry")
        return 0
    advice = "`acm data fetch` downloads them"
    if mirror_folder():
        advice = "correct the files in ACM_DATA_MIRROR"
    print(f"{bad} file{'s are' if bad > 1 else ' is'} missing or damaged: {advice}")
    return 1
