"""of_hypothesis - property tests: true ones pass, false ones get a small example."""
import hypothesis
from hypothesis import strategies
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import each

hypothesis.settings.register_profile("busy", deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
hypothesis.settings.load_profile("busy")


def test_a_property_that_holds_passes():
    seen = []

    @hypothesis.given(strategies.lists(strategies.integers()))
    def sorting_twice_is_sorting(values):
        seen.append(values)
        assert sorted(sorted(values)) == sorted(values)

    sorting_twice_is_sorting()
    assert len(seen) > 50


def test_a_property_that_does_not_hold_has_a_small_example():
    @hypothesis.given(strategies.integers())
    def small(value):
        assert value < 100

    try:
        small()
    except AssertionError as failure:
        assert "value=100" in "".join(failure.__notes__), failure.__notes__
    else:
        raise AssertionError("no example was found")


def test_examples_are_remembered_in_files():
    assert hypothesis.find(strategies.lists(strategies.integers()), lambda values: sum(values) >= 10, database_key=b"sum") == [10]


def test_machines_of_states():
    class Stack(RuleBasedStateMachine):
        def __init__(self):
            super().__init__()
            self.stack, self.count = [], 0

        @rule(value=strategies.text())
        def push(self, value):
            self.stack.append(value)
            self.count += 1

        @invariant()
        def counted(self):
            assert len(self.stack) == self.count

    Stack.TestCase().runTest()


each.run(globals())
