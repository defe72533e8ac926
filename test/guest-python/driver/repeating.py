"""Cells that come again, whose code is kept: nothing but time tells it."""

from driver import *

AGAIN = "seen.append((1.5, 'a b'))"  # a constant of the code


def test_a_short_cell_that_comes_again_is_not_compiled_again(d):
    d.ok("seen = []")
    for code in (AGAIN, "x = 1", AGAIN):
        d.ok(code)
    assert d.value("seen[0] is seen[1]") == "True"


def test_a_cell_runs_under_its_own_name_each_time(d):
    for number in (1, 2, 3):
        reply = d.fails("1 / 0", "ZeroDivisionError")
        assert f'File "<cell {number}>", line 1' in reply.traceback and "1 / 0\n" in reply.traceback, reply.traceback
        assert reply.number(LINE) == 1


def test_a_traceback_that_is_kept_has_its_old_name(d):
    d.ok("kept = []")
    for _ in range(3):
        d.ok("try: 1 / 0\nexcept Exception as problem: kept.append(problem.__traceback__)")
    assert d.value("[t.tb_frame.f_code.co_filename for t in kept]") == "['<cell 2>', '<cell 3>', '<cell 4>']"


def test_functions_have_the_name_of_the_cell_that_made_them(d):
    d.ok("made = []")
    for code in ("def f(): pass\nmade.append(f)", "made.append(lambda: 0)", "made.append((i for i in ()))") * 2:
        d.ok(code)
    assert d.value("[f.__code__.co_filename for f in made if callable(f)]") == "['<cell 2>', '<cell 3>', '<cell 5>', '<cell 6>']"


def test_warnings_of_a_text_are_told_each_time(d):
    for _ in range(3):
        assert "SyntaxWarning" in d.ok("x = '\\d'").err


def test_warnings_that_become_errors_later_are_errors(d):
    d.ok("import warnings\nx = '\\d'\nbefore = list(warnings.filters)")
    d.ok("x = '\\d'")
    d.fails("x +", "SyntaxError")
    assert d.value("warnings.filters == before") == "True"
    d.ok("warnings.simplefilter('error')")
    d.fails("x = '\\d'", "SyntaxError")
    d.ok("warnings.filters = 7")
    assert d.value("1 + 1") == "2"


def test_a_hook_hears_of_every_cell(d):
    d.ok("import sys\nheard = []\nsys.addaudithook(lambda event, args: heard.append(args[1]) if event == 'compile' else None)")
    d.ok("x = 1")
    d.ok("x = 1")
    assert d.value("heard") == "['<cell 2>', '<cell 3>', '<cell 4>']"


def test_what_looks_at_the_code_has_it_for_itself(d):
    d.ok("import sys, weakref\ncodes = []")
    for _ in range(2):
        d.ok("codes.append(sys._getframe().f_code)")
    assert d.value("[c.co_filename for c in codes]") == "['<cell 2>', '<cell 3>']"
    d.ok("codes.clear()")
    for _ in range(2):
        d.ok("codes.append(weakref.ref(sys._getframe().f_code))")
    assert d.value("[c().co_filename for c in codes if c()]") in ("['<cell 6>', '<cell 7>']", "['<cell 7>']")


def test_more_cells_than_are_kept_are_right_too(d):
    for _ in range(2):
        for number in range(40):
            assert d.value(f"{number} + 1") == str(number + 1)


def test_a_cell_that_awaits_can_come_again(d):
    d.ok("import asyncio")
    for _ in range(3):
        assert d.value("await asyncio.sleep(0, 5)") == "5"


def test_a_limit_of_digits_holds_for_a_text_that_was_seen(d):
    code = "x = " + "1" * 505
    d.ok(code)
    d.ok("import sys\nsys.set_int_max_str_digits(640)")
    d.ok(code)
    longer = "x = " + "1" * 700
    d.fails(longer, "SyntaxError")
    d.ok("sys.set_int_max_str_digits(0)")
    d.ok(longer)
    d.ok("sys.set_int_max_str_digits(640)")
    d.fails(longer, "SyntaxError")
