"""`python -m clmapreduce` is the command line."""

import sys

from clmapreduce.cli import main

sys.exit(main())
