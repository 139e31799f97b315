"""`python -m acm`: the command line without its script."""

import sys

from acm.cli import main

sys.exit(main())
