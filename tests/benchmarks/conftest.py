"""The scripts in `benchmarks/` are no package: tests import them as Python runs them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
