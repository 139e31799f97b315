"""Run the `acm` command as `python -m acm`."""

import sys

from acm.cli import main

sys.exit(main())
