"""Plots as SVG text: no library, no script, readable in any browser, light and dark."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

Point = tuple[float, float]

WIDTH, HEIGHT = 640, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 20, 34, 46
# Told apart with any kind of colour vision (Okabe and Ito).
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f7f7f")
_LEGEND_ROW, _LEGEND_LEFT = 16, 22
_CHARACTER = 8
_ROOM = 0.06


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis.

    Attributes:
        label: What is measured, with its unit.
        low: Value at its beginning.
        high: Value at its end, larger.
        logarithmic: Equal ratios are equally long; both ends are positive then.
    """

    label: str
    low: float
    high: float
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """Where a value lies, 0 to 1; beyond the ends at the end.

        Examples:
            >>> Axis("N", 1, 100, logarithmic=True).place(10)
            0.5
        """
        low, high = self.low, self.high
        if self.logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(max(value, low))
        return min(max((value - low) / (high - low), 0.0), 1.0)

    @classmethod
    def around(cls, label: str, values: Sequence[float], *, logarithmic: bool = False) -> Axis:
        """An axis that holds all values, with room on both sides; below zero only if they are."""
        low, high = min(values), max(values)
        if low == high:
            low, high = (low / 2, high * 2) if logarithmic else (low - 0.5, high + 0.5)
        elif not logarithmic:
            room = (high - low) * _ROOM
            low, high = (max(low - room, 0.0) if low >= 0 else low - room), high + room
        return cls(label, low, high, logarithmic)


def line_plot(
    title: str,
    series: Mapping[str, Sequence[Point]],
    x: Axis,
    y: Axis,
    *,
    joined: bool = True,
    dots: bool = True,
) -> str:
    """A plot of points, lines or both.

    Args:
        title: Above the plot.
        series: Name to its points, in the order in which they are joined.
        x: Horizontal axis.
        y: Vertical axis.
        joined: Whether each series is one line.
        dots: Whether its points are drawn.
    """
    parts = [_frame(title, x, y, _ticks(x), _ticks(y))]
    for index, (name, points) in enumerate(series.items()):
        colour = _COLOURS[index % len(_COLOURS)]
        places = [(_x(x.place(a)), _y(y.place(b))) for a, b in points]
        if joined and len(places) > 1:
            path = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
            parts.append(
                f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
            )
        for (a, b), point in zip(places, points, strict=True) if dots else ():
            told = escape(f"{name}: {point[0]:g}, {point[1]:.3f}")
            parts.append(
                f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4" fill="{colour}"><title>{told}</title></circle>'
            )
    return _svg(title, parts, list(series))


def bar_plot(
    title: str,
    groups: Sequence[str],
    series: Mapping[str, Sequence[tuple[float, float, float] | None]],
    y: Axis,
) -> str:
    """Bars with intervals, side by side in groups.

    Args:
        title: Above the plot.
        groups: Names of the groups, from left to right.
        series: Name to a value with the ends of its interval per group; None where there is none.
        y: Vertical axis.
    """
    parts = [_frame(title, Axis("", 0, 1), y, [], _ticks(y))]
    room = 1 / max(len(groups), 1)
    width = room * 0.8 / max(len(series), 1)
    for g, group in enumerate(groups):
        middle = _x((g + 0.5) * room)
        parts.append(_text(middle, HEIGHT - _BOTTOM + 16, escape(group), "middle"))
        for s, (name, values) in enumerate(series.items()):
            value = values[g]
            if value is None:
                continue
            left = _x(g * room + room * 0.1 + s * width)
            parts.append(
                _bar(left, width, value, y, _COLOURS[s % len(_COLOURS)], f"{name}, {group}")
            )
    return _svg(title, parts, list(series))


def _bar(
    left: float, share: float, value: tuple[float, float, float], y: Axis, colour: str, name: str
) -> str:
    at, low, high = (_y(y.place(v)) for v in value)
    width = share * (WIDTH - _LEFT - _RIGHT) * 0.9
    middle = left + width / 2
    told = escape(f"{name}: {value[0]:.3f} ({value[1]:.3f}–{value[2]:.3f})")
    return (
        f'<rect x="{left:.1f}" y="{at:.1f}" width="{width:.1f}" height="{_y(0) - at:.1f}" '
        f'fill="{colour}"><title>{told}</title></rect>'
        f'<line x1="{middle:.1f}" x2="{middle:.1f}" y1="{low:.1f}" y2="{high:.1f}" '
        'stroke="currentColor"/>'
    )


def _frame(title: str, x: Axis, y: Axis, x_ticks: Sequence[float], y_ticks: Sequence[float]) -> str:
    parts = [
        _text(WIDTH / 2, 18, escape(title), "middle", bold=True),
        _text((WIDTH + _LEFT - _RIGHT) / 2, HEIGHT - 8, escape(x.label), "middle"),
        f'<text transform="translate(14,{HEIGHT / 2}) rotate(-90)" text-anchor="middle">'
        f"{escape(y.label)}</text>",
        f'<path d="M{_x(0)},{_y(1)} V{_y(0)} H{_x(1)}" fill="none" stroke="currentColor"/>',
    ]
    for tick in y_ticks:
        at = _y(y.place(tick))
        parts.append(
            f'<line x1="{_x(0)}" x2="{_x(1)}" y1="{at:.1f}" y2="{at:.1f}" stroke="currentColor" '
            'opacity=".15"/>'
        )
        parts.append(_text(_x(0) - 6, at + 4, _label(tick), "end"))
    parts += [_text(_x(x.place(t)), _y(0) + 16, _label(t), "middle") for t in x_ticks]
    return "".join(parts)


def _ticks(axis: Axis) -> list[float]:
    """Round values within an axis: 1, 2 and 5 of each power of ten, or steps of them."""
    if axis.logarithmic:
        powers = range(math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high)) + 1)
        round_values = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
        return [value for value in round_values if axis.low <= value <= axis.high]
    rough = (axis.high - axis.low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * digit for digit in (1, 2, 5, 10) if power * digit >= rough * 0.999)
    first = math.ceil(axis.low / step - 1e-9)
    last = math.floor(axis.high / step + 1e-9)
    return [round(index * step, 12) for index in range(first, last + 1)]


def _label(value: float) -> str:
    """A value at an axis: 0.5, 20, 5k, 1M."""
    for power, unit in ((6, "M"), (3, "k")):
        if abs(value) >= 10**power:
            return f"{value / 10**power:g}{unit}"
    return f"{value:g}"


def _legend(names: Sequence[str]) -> list[str]:
    parts = []
    for index, name in enumerate(names):
        top = _TOP + 6 + index * _LEGEND_ROW
        colour = _COLOURS[index % len(_COLOURS)]
        parts.append(
            f'<rect x="{WIDTH + 6}" y="{top - 9}" width="10" height="10" fill="{colour}"/>'
        )
        parts.append(_text(WIDTH + _LEGEND_LEFT, top, escape(name), "start"))
    return parts


def _x(share: float) -> float:
    return _LEFT + share * (WIDTH - _LEFT - _RIGHT)


def _y(share: float) -> float:
    return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)


def _text(x: float, y: float, text: str, anchor: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{weight}>{text}</text>'


def _svg(title: str, parts: Sequence[str], names: Sequence[str]) -> str:
    """The plot with a legend beside it, which is as wide as its longest name."""
    legend = _LEGEND_LEFT + _CHARACTER * max(map(len, names), default=0)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + legend} {HEIGHT}" '
        f'role="img" aria-label="{escape(title, quote=True)}" '
        'font-family="sans-serif" font-size="12" fill="currentColor" color="#444">'
        + "".join([*parts, *_legend(names)])
        + "</svg>"
    )


def sample(function: Callable[[float], float], low: float, high: float, n: int = 60) -> list[Point]:
    """Points of a function at equal ratios between two positive values, both included."""
    ratio = (high / low) ** (1 / (n - 1))
    return [(x, function(x)) for x in (low * ratio**i for i in range(n))]
