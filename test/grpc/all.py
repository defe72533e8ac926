"""all.py [WORD] - every test, or those whose name has the word."""
import sys

import asking
import executing
import gotools
import harness
import wire

sys.exit(harness.run_all([executing, asking, wire, gotools], *sys.argv[1:2]))
