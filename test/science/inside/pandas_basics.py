"""What programs expect of pandas: reading and writing, groups, joins, times, missing values."""
import io
import json
import os
import sys
import tempfile

import each
import numpy as np
import pandas as pd

CSV = "name,city,age,joined\nAnn,Oslo,31,2024-01-05\nBob,Rome,,2024-02-10\nCid,Oslo,45,2024-02-28\n"


def table():
    return pd.read_csv(io.StringIO(CSV), parse_dates=["joined"])


def test_reads_and_writes_csv():
    t = table()
    assert t.shape == (3, 4) and t["age"].isna().tolist() == [False, True, False]
    assert t.dtypes["age"] == np.float64 and t["joined"].dt.month.tolist() == [1, 2, 2]
    assert pd.read_csv(io.StringIO("n\n1\n9000000000\n"))["n"].dtype == np.int64
    back = pd.read_csv(io.StringIO(t.to_csv(index=False)), parse_dates=["joined"])
    pd.testing.assert_frame_equal(t, back)
    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".csv", ".csv.gz", ".csv.xz", ".csv.bz2", ".csv.zip"):
            path = os.path.join(folder, "t" + suffix)
            t.to_csv(path, index=False)
            assert len(pd.read_csv(path)) == 3, suffix
    assert pd.read_csv(io.StringIO("a;b\n1,5;x\n"), sep=";", decimal=",")["a"][0] == 1.5
    assert pd.read_csv(io.StringIO("a  b\n1  2\n"), sep=r"\s+", engine="python")["b"][0] == 2
    assert sum(len(part) for part in pd.read_csv(io.StringIO("a\n" + "1\n" * 1000), chunksize=300)) == 1000


def test_groups_and_aggregates():
    t = table()
    assert t.groupby("city")["age"].mean().to_dict()["Oslo"] == 38
    both = t.groupby("city").agg(n=("name", "count"), oldest=("age", "max"))
    assert both.loc["Oslo"].tolist() == [2, 45]
    big = pd.DataFrame({"k": np.arange(100_000) % 7, "v": np.arange(100_000)})
    assert big.groupby("k")["v"].sum().sum() == 4_999_950_000 and big["v"].sum().__class__ is np.int64
    assert big.groupby("k")["v"].transform("size").iloc[0] == 14286
    assert t.pivot_table(index="city", values="age", aggfunc="sum").loc["Oslo", "age"] == 76
    assert pd.crosstab(t["city"], t["name"]).to_numpy().sum() == 3


def test_joins_and_shapes():
    left = pd.DataFrame({"k": [1, 2, 3], "a": ["x", "y", "z"]})
    right = pd.DataFrame({"k": [2, 3, 4], "b": [20, 30, 40]})
    assert left.merge(right, on="k")["b"].tolist() == [20, 30]
    assert left.merge(right, on="k", how="outer", indicator=True)["_merge"].tolist() == ["left_only", "both", "both", "right_only"]
    assert pd.merge_asof(pd.DataFrame({"t": [1, 5]}), pd.DataFrame({"t": [0, 4], "v": [7, 8]}), on="t")["v"].tolist() == [7, 8]
    long = left.melt(id_vars="k")
    assert len(long) == 3 and long.pivot(index="k", columns="variable", values="value")["a"].tolist() == ["x", "y", "z"]
    assert pd.concat([left, left], ignore_index=True).drop_duplicates().shape == (3, 2)
    assert left.set_index("k").join(right.set_index("k"))["b"].isna().sum() == 1


def test_times():
    days = pd.date_range("2024-02-27", periods=4, freq="D", tz="Europe/Oslo")
    assert days[2].isoformat() == "2024-02-29T00:00:00+01:00" and days.tz_convert("UTC")[0].hour == 23
    s = pd.Series(range(48), index=pd.date_range("2024-03-30", periods=48, freq="h"))
    assert s.resample("D").sum().tolist() == [276, 852] and s.rolling("3h").mean().iloc[-1] == 46
    assert (pd.Timestamp("2024-03-31 12:00", tz="Europe/Rome") - pd.Timestamp("2024-03-31 00:00", tz="Europe/Rome")) == pd.Timedelta("11h")
    assert pd.to_datetime(["5 January 2024", "2024-01-06"], format="mixed").day.tolist() == [5, 6]
    assert pd.Period("2024-02", freq="M").end_time.day == 29 and pd.Timestamp("2024-01-31") + pd.offsets.MonthEnd(1) == pd.Timestamp("2024-02-29")
    assert pd.Timestamp("2262-04-11").year == 2262 and str(pd.to_timedelta("1 days 2 hours")) == "1 days 02:00:00"


def test_texts_categories_and_missing():
    s = pd.Series(["a1", None, "b22"])
    assert s.str.extract(r"(\d+)")[0].tolist()[0] == "1" and s.str.upper().iloc[2] == "B22"
    c = pd.Series(["lo", "hi", "lo"], dtype="category")
    assert c.cat.codes.tolist() == [1, 0, 1]
    n = pd.array([1, None, 3], dtype="Int64")
    assert n.sum() == 4 and pd.isna(n[1])
    assert pd.Series([1.0, np.nan, 3.0]).interpolate().tolist() == [1, 2, 3]
    assert pd.cut([1, 5, 9], bins=[0, 3, 6, 10], labels=["a", "b", "c"]).tolist() == ["a", "b", "c"]
    assert pd.qcut(range(10), 2).categories.size == 2 and pd.get_dummies(c).shape == (3, 2)


def test_html_json_and_others():
    t = table()
    html = t.to_html()
    assert html.startswith('<table border="1" class="dataframe">') and "<td>Oslo</td>" in html
    assert t._repr_html_().count("<tr") == 4 and "3 rows" not in t.to_string()
    assert json.loads(t.to_json(orient="records", date_format="iso"))[0]["joined"].startswith("2024-01-05")
    assert pd.read_json(io.StringIO(t.to_json()))["name"].tolist() == ["Ann", "Bob", "Cid"]
    assert json.loads(pd.Series([2**40, 1]).to_json()) == {"0": 2**40, "1": 1}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "t.pkl")
        t.to_pickle(path)
        pd.testing.assert_frame_equal(pd.read_pickle(path), t)
    import sqlite3
    with sqlite3.connect(":memory:") as base:
        t.to_sql("people", base, index=False)
        assert pd.read_sql("select count(*) as n from people where city = 'Oslo'", base)["n"][0] == 2
    assert t.describe().loc["max", "age"] == 45 and t.query("age > 40")["name"].tolist() == ["Cid"] and t.eval("age * 2").iloc[0] == 62


def test_positions_and_sorting():
    t = table().sort_values("age", ascending=False)
    assert t["name"].iloc[0] == "Cid" and t.nlargest(1, "age")["name"].tolist() == ["Cid"]
    t.loc[t["city"] == "Rome", "age"] = 20
    assert t["age"].min() == 20 and t["age"].rank().tolist() == [3, 2, 1]
    assert t.reset_index(drop=True).index.tolist() == [0, 1, 2] and t["city"].value_counts()["Oslo"] == 2
    assert pd.Series([3, 1, 2]).argsort().tolist() == [1, 2, 0] and pd.factorize(np.array(["b", "a", "b"]))[0].tolist() == [0, 1, 0]
    wide = pd.DataFrame(np.arange(12).reshape(3, 4)).T
    assert wide.corr().iloc[0, 1] == 1 and wide.cumsum().iloc[-1].tolist() == [6, 22, 38]
    m = pd.MultiIndex.from_product([["a", "b"], [1, 2]])
    assert pd.Series(range(4), index=m).unstack().loc["b", 2] == 3 and pd.Series(range(4), index=m).loc["a"].tolist() == [0, 1]


def test_what_is_not_there_says_so():
    each.refused(ImportError, "parquet", table().to_parquet, "t.parquet")
    each.refused(ImportError, "openpyxl", table().to_excel, "t.xlsx")


def test_metadata_names_the_packages():
    import importlib.metadata
    assert importlib.metadata.version("pandas") == pd.__version__
    assert importlib.metadata.version("python-dateutil") and "/usr/lib/python3/dist-packages" in sys.path


each.run(globals())
