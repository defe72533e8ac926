"""of_sympy - algebra: what users of SymPy do first."""
import sympy
from sympy.abc import x

import each


def test_equations_are_solved():
    assert sympy.solve(x**2 - 5 * x + 6, x) == [2, 3]
    assert abs(sympy.nsolve(sympy.cos(x) - x, 1) - 0.739085133215161) < 1e-12


def test_calculus():
    assert sympy.integrate(sympy.sin(x) ** 2, (x, 0, sympy.pi)) == sympy.pi / 2
    assert sympy.limit(sympy.sin(x) / x, x, 0) == 1
    f = sympy.Function("f")
    assert str(sympy.dsolve(f(x).diff(x) - f(x))) == "Eq(f(x), C1*exp(x))"


def test_matrices_and_numbers_of_any_precision():
    assert sympy.Matrix([[2, 1], [1, 2]]).eigenvals() == {3: 1, 1: 1}
    assert str(sympy.N(sympy.pi, 50)).startswith("3.14159265358979323846264338327950288419716939937")


def test_expressions_become_functions_and_text():
    assert sympy.lambdify(x, x**2 + 1)(5) == 26
    assert sympy.latex(sympy.Integral(x**2, x)) == r"\int x^{2}\, dx"


each.run(globals())
