"""List the graphs, download their files, or verify that the files are undamaged.

The environment variable ACM_DATA_MIRROR names a folder or an http(s) address to read from instead
of the public address. ACM_DATA_CACHE names the folder for downloads. The exit code of `verify` is 1
if a file is missing or damaged.
"""

from acm.data.names import DATASETS, dataset


def add_arguments(parser) -> None:
    parser.add_argument("action", choices=("list", "fetch", "verify"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="names of graphs (default: all)")


def main(args) -> int:
    from acm.data.files import available, fetch, mirror_folder, verify

    if args.action != "verify":
        for name in args.names or DATASETS:
            if args.action == "fetch":
                fetch([name])
            state = "available" if available(name) else "-"
            print(f"{name:18}  {state:9}  {dataset(name).description}")
        return 0
    bad = 0
    for status in verify(args.names or None):
        print(f"{status.state:8} {status.file.dataset}  {status.file.path}")
        bad += status.state != "ok"
    if not bad:
        print("every file agrees with the registry")
        return 0
    advice = "correct the files in ACM_DATA_MIRROR"
    advice = advice if mirror_folder() else "`acm data fetch` downloads them"
    print(f"missing or damaged files: {bad}; {advice}")
    return 1
