"""What programs expect of numpy: numbers, the default integer, linear algebra, random numbers, files."""
import io
import os
import pickle
import sys
import tempfile

import each
import numpy as np


def test_default_integer_has_64_bits():
    assert np.arange(3).dtype == np.int64 and np.array([1, 2]).dtype == np.int64
    assert np.int_ is np.int64 and np.dtype(int) == np.int64 and np.zeros(2, int).dtype == np.int64
    assert np.iinfo(int).max == 2**63 - 1
    assert (np.array([2**31 - 1]) + 1)[0] == 2**31
    assert np.array([2**31 - 1, 1], np.int32).sum() == 2**31 and np.ones(3, bool).sum().dtype == np.int64
    assert np.cumsum(np.full(5, 2**30, np.int32))[-1] == 5 * 2**30
    assert np.array([100000, 100000], np.int32).prod() == 10**10
    assert np.array([1.5, 2.5]).astype(int).dtype == np.int64 and (np.arange(3) ** 2).dtype == np.int64


def test_indices_take_default_integers():
    counts = np.array([1, 0, 2])
    assert np.repeat(["a", "b", "c"], counts).tolist() == ["a", "c", "c"]
    assert np.bincount(np.array([0, 1, 1, 3])).tolist() == [1, 2, 0, 1]
    a = np.arange(10)
    assert a[np.array([1, -1])].tolist() == [1, 9] and a.take(np.array([2, 3])).tolist() == [2, 3]
    np.put(a, np.array([0]), 7)
    assert a[0] == 7 and np.choose(np.array([0, 1]), [[1, 2], [3, 4]]).tolist() == [1, 4]
    assert np.argsort([3, 1, 2]).tolist() == [1, 2, 0] and np.searchsorted([1, 2, 3], 2.5) == 2
    assert np.unravel_index(np.array([5]), (2, 3))[1].tolist() == [2]
    assert np.insert(np.arange(3), 1, 9).tolist() == [0, 9, 1, 2] and np.delete(np.arange(4), [0, 2]).tolist() == [1, 3]


def test_linear_algebra():
    rng = np.random.default_rng(1)
    a, b = rng.random((60, 60)), rng.random(60)
    assert np.allclose(a @ np.linalg.solve(a, b), b)
    q, r = np.linalg.qr(a)
    assert np.allclose(q @ r, a) and np.allclose(q.T @ q, np.eye(60))
    u, s, vt = np.linalg.svd(a)
    assert np.allclose(u * s @ vt, a)
    w, v = np.linalg.eigh(a + a.T)
    assert np.allclose((a + a.T) @ v, v * w)
    assert np.allclose(np.linalg.inv(a) @ a, np.eye(60)) and np.isclose(np.linalg.det(np.diag([2.0, 3.0])), 6)
    assert np.allclose(np.linalg.eigvals([[0, 1], [-1, 0]]).imag, [1, -1])
    each.refused(np.linalg.LinAlgError, "Singular matrix", np.linalg.inv, np.zeros((2, 2)))


def test_random_numbers_are_those_of_other_platforms():
    assert np.random.default_rng(42).integers(0, 100, 5).tolist() == [8, 77, 65, 43, 43]
    assert np.allclose(np.random.default_rng(42).standard_normal(2), [0.30471708, -1.03998411])
    old = np.random.RandomState(0)
    assert old.randint(0, 100, 5).tolist() == [44, 47, 64, 67, 67] and old.randint(10).__class__ is int
    assert np.allclose(np.random.RandomState(0).rand(2), [0.5488135, 0.71518937])
    one = np.random.RandomState(1)
    assert one.binomial(10, .5, 4).tolist() == [5, 6, 0, 4] and one.poisson(5, 3).dtype == np.int64
    assert one.multinomial(20, [1 / 6] * 6).sum() == 20 and one.randint(2**40, size=2).dtype == np.int64
    assert sorted(np.random.RandomState(3).permutation(5).tolist()) == [0, 1, 2, 3, 4]


def test_transforms_and_functions():
    x = np.random.default_rng(2).random(4096)
    assert np.allclose(np.fft.ifft(np.fft.fft(x)).real, x) and np.allclose(np.fft.irfft(np.fft.rfft(x)), x)
    assert np.allclose(np.sin(x) ** 2 + np.cos(x) ** 2, 1) and np.allclose(np.exp(np.log(x)), x)
    assert np.allclose(np.sort(x), sorted(x.tolist())) and np.sort(np.arange(100)[::-1])[0] == 0
    assert np.polyfit([0, 1, 2], [1, 3, 5], 1).round(6).tolist() == [2, 1]
    assert np.einsum("ij,jk->ik", np.eye(3), np.ones((3, 2))).sum() == 6
    assert np.percentile([1, 2, 3, 4], 50) == 2.5 and np.histogram([1, 2, 2, 5], 4)[0].tolist() == [1, 2, 0, 1]
    assert np.ma.masked_array([1, 2, 3], [0, 1, 0]).mean() == 2


def test_texts_times_and_records():
    assert np.datetime64("2024-02-28") + np.timedelta64(2, "D") == np.datetime64("2024-03-01")
    assert np.array(["a", "bb"], dtype=np.dtypes.StringDType())[1] == "bb" and np.strings.upper(["x"])[0] == "X"
    table = np.array([(1, 2.5)], dtype=[("n", "i4"), ("x", "f8")])
    assert table["x"][0] == 2.5 and repr(np.float64(0.1)) == "np.float64(0.1)"
    assert str(np.array([1.0, 2.5])) == "[1.  2.5]"


def test_files():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.npy")
        np.save(path, np.arange(6).reshape(2, 3))
        assert np.load(path).sum() == 15 and np.load(path, mmap_mode="r")[1, 2] == 5
        np.savez_compressed(path + "z", a=np.ones(3))
        assert np.load(path + "z.npz")["a"].sum() == 3
    assert np.loadtxt(io.StringIO("1 2\n3 4")).tolist() == [[1, 2], [3, 4]]
    assert np.genfromtxt(io.StringIO("a,b\n1,2.5"), delimiter=",", names=True)["b"] == 2.5
    assert pickle.loads(pickle.dumps(np.arange(3) * 1j))[2] == 2j


def test_floating_point_errors_are_not_told():
    """WebAssembly has no flags of them: results are right, warnings are not given (doc/guide/science.md)."""
    with np.errstate(all="raise"):
        assert np.isinf(np.array([1.0]) / 0).all()
    assert np.finfo(np.longdouble).bits == 64


def test_metadata_names_the_package():
    import importlib.metadata
    assert importlib.metadata.version("numpy") == np.__version__
    assert "/usr/lib/python3/dist-packages" in sys.path


each.run(globals())
