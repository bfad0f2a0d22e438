"""Figures as SVG and the page of all items, in light and dark."""

import html
import math

STYLE = """.f{font:12px system-ui,sans-serif;--c0:#2a78d6;--c1:#c2571a;--c2:#1b8a63;--c3:#8a5cc9;--c4:#b8336a;--c5:#6b7280;--i:#1f2328;--g:#d0d4da}
@media(prefers-color-scheme:dark){.f{--c0:#6aa9f4;--c1:#f0955a;--c2:#4cc795;--c3:#b99af0;--c4:#f07ba6;--c5:#a3abb8;--i:#e6e8eb;--g:#3a4048}}
.f text{fill:var(--i)}.f .g{stroke:var(--g)}.f polyline{fill:none;stroke-width:2}"""
WIDE, HIGH, LEFT, TOP = 400, 240, 60, 30
PAGE_STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark;background:Canvas;color:CanvasText}
table{border-collapse:collapse;font-size:.85rem}td,th{padding:.15rem .6rem;border-bottom:1px solid #8884;text-align:left;vertical-align:top}
.wide{overflow-x:auto}pre{overflow-x:auto;font-size:.8rem}section{border-top:2px solid #8886;margin-top:2rem}svg{max-width:100%;height:auto}b.v{white-space:nowrap}"""


def escaped(value):
    return html.escape(f"{value:.4g}" if isinstance(value, float) else str(value))


def framed(title, x, y, inside, names, across=WIDE):
    """names: what stands in the legend, whose longest line sets the width, as the title does."""
    wide = max(LEFT + across + 42 + 7 * max(map(len, names), default=0), LEFT + 10 + 8 * len(title))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" class="f" viewBox="0 0 {wide} {TOP + HIGH + 45}" width="{wide}" '
            f'role="img" aria-label="{escaped(title)}"><style>{STYLE}</style>'
            f'<text x="{LEFT}" y="18" font-weight="600">{escaped(title)}</text>'
            f'<text x="{LEFT + across / 2}" y="{TOP + HIGH + 38}" text-anchor="middle">{escaped(x)}</text>'
            f'<text transform="translate(14 {TOP + HIGH / 2}) rotate(-90)" text-anchor="middle">{escaped(y)}</text>{inside}</svg>')


def ticks(low, high, log, whole=False):
    """Round numbers between the ends; whole: of what is counted."""
    if log:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        found = [[digit * 10.0**power for power in powers for digit in digits if low / 1.001 <= digit * 10.0**power <= high * 1.001]
                 for digits in ((1,), (1, 2, 5))]
        return next((values for values in found if len(values) > 2), found[1]) or [low, high]
    step = 10.0 ** math.floor(math.log10((high - low) / 4 or 1))
    step = max(step * next(factor for factor in (1, 2, 5, 10) if (high - low) / (factor * step) <= 6), 1 if whole else 0)
    return [step * place for place in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def lines(title, x, y, series, log=False, log_y=False, ends=None):
    """series: {name: [(x, y), …]}; ends: of the y axis."""
    series = {name: found for name, found in series.items() if found}
    points = [point for found in series.values() for point in found]
    low, high = min(point[0] for point in points), max(point[0] for point in points)
    bottom, top = ends or (min(point[1] for point in points), max(point[1] for point in points))
    high, top = high if high > low else low + 1, top if top > bottom else bottom + 1

    def along(value, least, most, logarithm):
        return (math.log(value / least) / math.log(most / least)) if logarithm else (value - least) / (most - least)

    def place(point):
        return (f"{LEFT + WIDE * along(point[0], low, high, log):.1f}",
                f"{TOP + HIGH * (1 - along(min(max(point[1], bottom), top), bottom, top, log_y)):.1f}")

    inside = []
    for value in ticks(low, high, log, all(point[0] == round(point[0]) for point in points)):
        across = place((value, bottom))[0]
        inside.append(f'<path class="g" d="M{across} {TOP}V{TOP + HIGH}"/><text x="{across}" y="{TOP + HIGH + 18}" text-anchor="middle">{value:g}</text>')
    for value in ticks(bottom, top, log_y):
        up = place((low, value))[1]
        inside.append(f'<path class="g" d="M{LEFT} {up}H{LEFT + WIDE}"/><text x="{LEFT - 6}" y="{float(up) + 4}" text-anchor="end">{value:g}</text>')
    for number, (name, found) in enumerate(series.items()):
        ink, dash = f"var(--c{number % 6})", ' stroke-dasharray="5 4"' * (number >= 6 or "published" in name)
        inside.append(f'<polyline stroke="{ink}"{dash} points="{" ".join(",".join(place(point)) for point in found)}"/>')
        inside += [f'<circle cx="{place(point)[0]}" cy="{place(point)[1]}" r="3" fill="{ink}"/>' for point in found
                   if len(found) < 40]
        down = TOP + 8 + 18 * number
        inside.append(f'<path d="M{LEFT + WIDE + 10} {down}h16" stroke="{ink}" stroke-width="3"{dash}/><text x="{LEFT + WIDE + 32}" y="{down + 4}">{escaped(name)}</text>')
    return framed(title, x, y, "".join(inside), series)


def cells(title, x, y, ends, values, most, meaning, levels=None):
    """A map: values[row][column] from 0 to most, rows from below, over a square; levels: {value: what it means}, where few."""
    side, middle = HIGH / len(values), sum(ends) / 2
    inside = [f'<rect x="{LEFT + side * column:.1f}" y="{TOP + HIGH - side * (row + 1):.1f}" width="{side + .3:.1f}" height="{side + .3:.1f}" '
              f'fill="var(--c0)" fill-opacity="{max(0.0, min(1.0, value / most)):.2f}"/>'
              for row, found in enumerate(values) for column, value in enumerate(found)]
    inside.append(f'<rect class="g" x="{LEFT}" y="{TOP}" width="{HIGH}" height="{HIGH}" fill="none"/>')
    for value in (ends[0], middle, ends[1]):
        off = (value - ends[0]) / (ends[1] - ends[0]) * HIGH
        inside.append(f'<text x="{LEFT + off:.0f}" y="{TOP + HIGH + 18}" text-anchor="middle">{value:g}</text>'
                      f'<text x="{LEFT - 6}" y="{TOP + HIGH - off + 4:.0f}" text-anchor="end">{value:g}</text>')
    levels = levels or {most * step / 4: f"{most * step / 4:g}" for step in (4, 3, 2, 1, 0)}
    for step, (level, name) in enumerate(levels.items()):
        inside.append(f'<rect class="g" x="{LEFT + HIGH + 20}" y="{TOP + 20 + 18 * step}" width="14" height="18" fill="var(--c0)" fill-opacity="{level / most}"/>'
                      f'<text x="{LEFT + HIGH + 42}" y="{TOP + 33 + 18 * step}">{escaped(name)}</text>')
    inside.append(f'<text x="{LEFT + HIGH + 20}" y="{TOP + 10}">{escaped(meaning)}</text>')
    return framed(title, x, y, "".join(inside), [meaning, *levels.values()], HIGH)


def choices(title, x, y, columns, rows, chosen):
    """Which of a few is chosen: chosen[row][column] = (name, what stands in its cell), rows from below."""
    names = sorted({name for found in chosen for name, _ in found})
    wide, high = WIDE / len(columns), HIGH / len(rows)
    inside = []
    for row, found in enumerate(chosen):
        down = TOP + HIGH - high * (row + 1)
        inside.append(f'<text x="{LEFT - 6}" y="{down + high / 2 + 4:.0f}" text-anchor="end">{escaped(rows[row])}</text>')
        for column, (name, words) in enumerate(found):
            inside.append(f'<rect x="{LEFT + wide * column:.1f}" y="{down:.1f}" width="{wide:.1f}" height="{high:.1f}" fill-opacity=".45" '
                          f'fill="var(--c{names.index(name)})"/><text x="{LEFT + wide * (column + .5):.0f}" y="{down + high / 2 + 4:.0f}" '
                          f'text-anchor="middle">{escaped(words)}</text>')
    inside += [f'<text x="{LEFT + wide * (column + .5):.0f}" y="{TOP + HIGH + 18}" text-anchor="middle">{escaped(value)}</text>'
               for column, value in enumerate(columns)]
    inside += [f'<rect x="{LEFT + WIDE + 10}" y="{TOP + 18 * place}" width="14" height="14" fill-opacity=".45" fill="var(--c{place})"/>'
               f'<text x="{LEFT + WIDE + 32}" y="{TOP + 12 + 18 * place}">{escaped(name)}</text>' for place, name in enumerate(names)]
    return framed(title, x, y, "".join(inside), names)


def table(rows):
    names = list(dict.fromkeys(name for row in rows for name in row))
    head = "".join(f"<th>{escaped(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escaped(row.get(name, ''))}</td>" for name in names) + "</tr>" for row in rows)
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def verdict(one):
    return one["verdict"] + " (quick)" * (one["quick"] and bool(one["commands"]))


def section(one):
    name = f"{one['paper']} {one['item']}"
    parts = [f'<section id="{escaped(name)}"><h3>{escaped(name)}</h3><p><i>{escaped(one["caption"])}</i></p>']
    if one.get("says"):
        parts.append(f"<p>The paper: {escaped(one['says'])}</p>")
    if one.get("data"):
        parts.append(f"<p>Here: {escaped(one['data'])}</p>")
    parts.append(f'<p><b class="v">{escaped(verdict(one))}</b>{": " * bool(one["why"])}{escaped(one["why"])}</p>')
    parts += one["drawings"]
    if one["rows"]:
        parts.append(table(one["rows"]))
    if one["commands"]:
        parts.append(f"<details><summary>{len(one['commands'])} commands, {one['seconds']:.1f} s of "
                     f"processor{' (quick)' * one['quick']}</summary>"
                     f"<pre>{escaped(chr(10).join(one['commands']))}</pre></details>")
    return "".join(parts) + "</section>"


def claims(known):
    """Those of the papers that do not hold, each with the test of its smallest case."""
    rows = "".join(f"<tr><td>{escaped(paper)} {escaped(item)}</td><td>{escaped(told.get('claim', told.get('says')))}</td>"
                   f"<td>{escaped(told['counterexample'])}</td></tr>" for (paper, item), told in known.items()
                   if "counterexample" in told)
    return (f'<h2>Claims that do not hold</h2><div class="wide"><table><tr><th>item</th><th>claim</th><th>counterexample, a test</th>'
            f"</tr>{rows}</table></div>")


def page(found, known):
    """Of all that was reproduced, in the order of the list, and of the claims of all that is known."""
    counts = {}
    for one in found:
        counts[one["verdict"]] = counts.get(one["verdict"], 0) + 1
    rows = "".join(f'<tr><td><a href="#{escaped(one["paper"])} {escaped(one["item"])}">{escaped(one["paper"])} {escaped(one["item"])}</a></td>'
                   f'<td><b class="v">{escaped(verdict(one))}</b></td><td>{escaped(one["why"])}</td></tr>' for one in found)
    return (f'<!doctype html><html lang="en"><meta charset="utf-8"><title>The papers, item by item</title><style>{PAGE_STYLE}</style>'
            f"<h1>The papers, item by item</h1><p>{escaped(', '.join(f'{count} {verdict}' for verdict, count in counts.items()))}; "
            f"{sum(one['seconds'] for one in found) / 60:.1f} minutes of processor. What depends on private records is for "
            f"their owner.</p>"
            f'<div class="wide"><table><tr><th>item</th><th>verdict</th><th>why</th></tr>{rows}</table></div>{claims(known)}{"".join(map(section, found))}</html>')
