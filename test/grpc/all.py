"""all.py [WORD] - every test, or those whose name has the word."""
import sys

import asking
import executing
import gotools
import harness
import storing
import testing
import wire

sys.exit(harness.run_all([executing, asking, storing, testing, wire, gotools], *sys.argv[1:2]))
