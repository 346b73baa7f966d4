"""Line charts over days: SVG that stretches with the page. Numbers and dates are text beside the picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

MAX_STEPS = 4  # steps of the scale, at most


@dataclass(frozen=True)
class Chart:
    """A chart. ``picture`` is SVG without text, ``ticks`` the scale from the top down.

    ``dates`` has the first day, a middle day if there is room, and the last day.
    """

    picture: SafeString
    ticks: list[int]
    dates: list[date]


def compute_scale(most: int, least: int = 0) -> list[int]:
    """Return round numbers in at most 4 steps of 1, 2 or 5 times a power of ten, and one more below 0.

    They include 0, and reach at least from ``least`` to ``most``.
    """
    unit = 1
    while True:
        for step in (unit, 2 * unit, 5 * unit):
            # Rounded up: "-(-a // b)" is the ceiling of a / b.
            below = -(min(least, 0) // step)
            above = -(-max(most, 1) // step)
            max_steps = MAX_STEPS + 1 if below else MAX_STEPS
            if above <= MAX_STEPS and below + above <= max_steps:
                return [step * n for n in range(-below, above + 1)]
        unit *= 10


def draw_chart(
    days: Sequence[date], lines: Sequence[tuple[str, Sequence[int]]], *, name: str, titles: Sequence[str] = ()
) -> Chart:
    """Draw lines, each with a CSS class ("dau") and a number per day.

    name: describes the chart in words. titles: a tooltip for each day.
    """
    numbers: list[int] = []
    for _, line in lines:
        numbers += line
    ticks = compute_scale(max(numbers, default=0), min(numbers, default=0))
    top, height, width = ticks[-1], ticks[-1] - ticks[0], max(len(days) - 1, 1)
    drawn = [(css, _list_points(line, top)) for css, line in lines]
    picture = format_html(
        '<svg class="plot-lines" role="img" viewBox="0 0 {} {}" preserveAspectRatio="none" aria-label="{}">{}{}{}'
        "</svg>",
        width,
        height,
        name,
        format_html_join("", '<path class="rule" d="M0 {}H{}"/>', [(top - tick, width) for tick in ticks]),
        format_html_join("", '<polyline class="{}" points="{}"/>', drawn),
        format_html_join(
            "",
            '<rect class="tip" x="{}" y="0" width="1" height="{}"><title>{}</title></rect>',
            [(x - 0.5, height, title) for x, title in enumerate(titles)],
        ),
    )
    return Chart(picture, ticks[::-1], _pick_dates(days))


def _pick_dates(days: Sequence[date]) -> list[date]:
    dates = [days[0]]
    if len(days) > 8:
        dates.append(days[len(days) // 2])
    if len(days) > 1:
        dates.append(days[-1])
    return dates


def _list_points(numbers: Sequence[int], top: int) -> str:
    """Return the points of a line. The y axis of SVG points down."""
    # A line with one point is invisible.
    visible = numbers if len(numbers) > 1 else list(numbers) * 2
    return " ".join(f"{x},{top - number}" for x, number in enumerate(visible))
