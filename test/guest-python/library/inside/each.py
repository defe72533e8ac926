"""each - runs the test functions of a script, one after the other."""
import sys
import traceback


def run(names):
    bad = 0
    for name, function in list(names.items()):
        if name.startswith("test_"):
            try:
                function()
                print("ok", name, flush=True)
            except BaseException:
                bad += 1
                print("FAIL", name, flush=True)
                traceback.print_exc()
    sys.stdout.flush()
    sys.exit(bad != 0)


def refused(kind, words, call, *args, **kwargs):
    """It raises, and the message says why."""
    try:
        call(*args, **kwargs)
    except kind as problem:
        assert words in str(problem), problem
    else:
        raise AssertionError("was not refused")
