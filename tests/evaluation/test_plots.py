"""Plots as SVG."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tmem_integrations.evaluation.plots import Axis, bar_plot, line_plot, sample


def test_points_lie_where_their_values_are():
    svg = line_plot("t", {"a": [(0, 0), (10, 1)]}, Axis("x", 0, 10), Axis("y", 0, 1))
    root = ElementTree.fromstring(svg)
    circles = [e for e in root.iter() if e.tag.endswith("circle")]
    first, second = ((float(c.get("cx", 0)), float(c.get("cy", 0))) for c in circles)
    assert first[0] < second[0]
    assert first[1] > second[1]  # SVG counts downwards


def test_a_name_cannot_break_the_picture():
    svg = line_plot("<b>&", {"<script>": [(0, 0)]}, Axis("x", 0, 1), Axis("y", 0, 1))
    root = ElementTree.fromstring(svg)
    assert not [e for e in root.iter() if e.tag.endswith("script")]


def test_the_longest_name_fits_beside_the_picture():
    def width(name):
        svg = line_plot("t", {name: [(0, 0)]}, Axis("x", 0, 1), Axis("y", 0, 1))
        return float(ElementTree.fromstring(svg).get("viewBox", "").split()[2])

    # No character of the font is wider than 8 of its 12 points on average.
    assert width("n" * 50) - width("n" * 10) == 40 * 8


@pytest.mark.parametrize(
    ("value", "label"), [(0.5, "0.5"), (20, "20"), (5_000, "5k"), (1_000_000, "1M")]
)
def test_large_values_are_short_at_an_axis(value, label):
    x = Axis("x", value / 2, value * 2, logarithmic=True)
    svg = line_plot("t", {"a": [(value, 1)]}, x, Axis("y", 0, 1))
    texts = [e.text for e in ElementTree.fromstring(svg).iter() if e.tag.endswith("text")]
    assert label in texts


def test_a_missing_bar_leaves_its_place_empty():
    svg = bar_plot("t", ["g", "h"], {"a": [(0.5, 0.4, 0.6), None]}, Axis("y", 0, 1))
    root = ElementTree.fromstring(svg)
    bars = [e for e in root.iter() if e.tag.endswith("rect") and len(e)]
    assert len(bars) == 1
    assert bars[0][0].text == "a, g: 0.500 (0.400–0.600)"


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5))
def test_every_value_lies_on_its_axis(values):
    axis = Axis.around("x", values)
    assert all(0 <= axis.place(value) <= 1 for value in values)
    assert axis.low < axis.high


def test_points_do_not_lie_on_the_border_and_nothing_is_below_nothing():
    axis = Axis.around("x", [0.0, 10.0])
    assert axis.low == 0.0
    assert 0 < axis.place(10.0) < 1


@pytest.mark.parametrize(
    ("value", "place"), [(1, 0.0), (10, 0.5), (100, 1.0), (1000, 1.0), (0, 0.0)]
)
def test_a_logarithmic_axis_keeps_ratios(value, place):
    assert Axis("x", 1, 100, logarithmic=True).place(value) == place


def test_samples_keep_their_ratio():
    assert [round(x, 6) for x, _ in sample(lambda x: x, 1, 100, n=3)] == [1, 10, 100]
