"""``python -m almanac`` is ``almanac``."""

import sys

from almanac.cli import main

sys.exit(main())
