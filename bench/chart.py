"""chart.py - the figures as bars: one group a row, a bar a side, as long as its share of the longest in the group."""
from html import escape

COLOURS = {"cay": "#0b7a75", "native": "#8a8f98", "bwrap": "#c98b2b"}
WIDTH, LEFT, RIGHT, BAR, GAP, TOP = 860, 310, 110, 11, 14, 44


def bar(x, y, length, side):
    return f'<rect x="{x}" y="{y}" width="{max(length, 1):.1f}" height="{BAR - 2}" rx="2" fill="{COLOURS[side]}"/>'


def text(x, y, content, anchor="start", size=12, weight="normal"):
    return f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}">{escape(content)}</text>'


def group(row, y, figure_text):
    sides = [s for s in COLOURS if row.figure(s) is not None]
    longest = max(row.figure(s) for s in sides)
    note = ", more is better" if row.more_is_better else ""
    parts = [text(LEFT - 10, y + BAR, row.name.replace("`", ""), "end"),
             text(LEFT - 10, y + 2 * BAR + 3, row.unit + note, "end", 10)]
    for i, side in enumerate(sides):
        length = row.figure(side) / longest * (WIDTH - LEFT - RIGHT)
        parts.append(bar(LEFT, y + i * BAR, length, side))
        parts.append(text(LEFT + length + 5, y + i * BAR + 9, figure_text(row.figure(side)), size=10))
    return parts, y + max(len(sides), 2) * BAR + GAP


def legend():
    parts, x = [], LEFT
    for side, name in (("cay", "cay"), ("native", "native"), ("bwrap", "bubblewrap")):
        parts += [f'<rect x="{x}" y="14" width="12" height="12" rx="2" fill="{COLOURS[side]}"/>', text(x + 18, 24, name)]
        x += 100
    return parts


def svg(rows, figure_text):
    parts, y = legend(), TOP
    for row in rows:
        more, y = group(row, y, figure_text)
        parts += more
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" font-family="sans-serif" fill="#33383f">\n'
            f'<rect width="{WIDTH}" height="{y}" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n")
