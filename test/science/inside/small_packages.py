"""What programs expect of PyYAML, MarkupSafe, Jinja2, regex, dateutil and their kin."""
import datetime

import each


def test_yaml_is_that_of_libyaml():
    import yaml
    assert yaml.__with_libyaml__
    text = "a: [1, 2.5, yes]\nb:\n  - {c: ~}\nd: 2024-01-02\ne: |\n  two\n  lines\n"
    for loader in (yaml.SafeLoader, yaml.CSafeLoader):
        assert yaml.load(text, loader) == {"a": [1, 2.5, True], "b": [{"c": None}], "d": datetime.date(2024, 1, 2), "e": "two\nlines\n"}
    made = yaml.dump({"x": [1, "é"]}, Dumper=yaml.CSafeDumper, allow_unicode=True)
    assert made == "x:\n- 1\n- é\n", made
    each.refused(yaml.YAMLError, "line 1", yaml.load, "a: [1", yaml.CSafeLoader)


def test_templates_escape():
    import jinja2
    import markupsafe
    import markupsafe._speedups
    assert markupsafe._speedups.__name__ == "markupsafe._speedups" and markupsafe.escape("<a&'\">") == "&lt;a&amp;&#39;&#34;&gt;"
    page = jinja2.Environment(autoescape=True).from_string("{% for n in names %}<li>{{ n }}</li>{% endfor %}")
    assert page.render(names=["a", "<b>"]) == "<li>a</li><li>&lt;b&gt;</li>"


def test_regex_has_more_than_re():
    import regex
    assert regex.findall(r"\p{Lu}\p{Ll}+", "Ärger und Ölung") == ["Ärger", "Ölung"]
    assert regex.fullmatch(r"(?:cats|cat){e<=1}", "cut") and regex.match(r"(?<x>a)+", "aaa").captures("x") == ["a", "a", "a"]
    assert regex.sub(r"(?<=(\w))\1", "", "aabb") == "ab" and regex.split(r"\s*,\s*", "a , b") == ["a", "b"]


def test_dates():
    import dateutil.parser
    import dateutil.relativedelta
    import dateutil.tz
    import pytz
    assert dateutil.parser.parse("5 January 2024 13:05") == datetime.datetime(2024, 1, 5, 13, 5)
    assert datetime.date(2024, 1, 31) + dateutil.relativedelta.relativedelta(months=1) == datetime.date(2024, 2, 29)
    assert datetime.datetime(2024, 7, 1, tzinfo=dateutil.tz.gettz("Europe/Oslo")).utcoffset() == datetime.timedelta(hours=2)
    assert pytz.timezone("America/New_York").localize(datetime.datetime(2024, 1, 1)).utcoffset() == datetime.timedelta(hours=-5)


def test_others():
    import packaging.version
    import pyparsing
    import six
    assert packaging.version.Version("2.10") > packaging.version.Version("2.9") and six.PY3
    assert pyparsing.Word(pyparsing.nums).parse_string("42")[0] == "42"


each.run(globals())
