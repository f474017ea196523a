"""`python -m demo`."""

import sys

from demo.agent import main

sys.exit(main())
