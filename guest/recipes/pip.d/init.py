"""pip, out of the wheel that ensurepip has."""

import sys

_WHEEL = "/usr/lib/python3.13/ensurepip/_bundled/@WHEEL@"
__path__ = [_WHEEL + "/pip"]
if _WHEEL not in sys.path:
    sys.path.append(_WHEEL)  # where pip looks for its own name and version
__version__ = _WHEEL.rpartition("/")[2].split("-")[1]
