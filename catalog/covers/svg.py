"""Drawn covers as SVG, in pages.

Colours are classes (``static/css/shelf.css``) and sizes are attributes, because the content security policy forbids
style attributes.
"""

from functools import lru_cache

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from catalog.covers.plans import CoverFacts, CoverLine, CoverPlan, plan_cover


@lru_cache(maxsize=4096)
def draw_cover(facts: CoverFacts) -> SafeString:
    """Return the cover of a book as SVG. Screen readers skip it: the page has title and author as text."""
    plan = plan_cover(facts)
    texts = "".join(map(_render_line, plan.lines))
    return mark_safe(
        f'<svg class="cover cloth-{plan.cloth} type-{plan.typeface}" viewBox="0 0 120 180" aria-hidden="true"'
        f'><path class="cloth" d="M0 0h120v180H0z"/>{_render_shapes(plan)}{texts}</svg>'
    )


def _render_shapes(plan: CoverPlan) -> str:
    """Return the texture, the binding and the motif."""
    grain = f'<path class="grain {plan.texture}" d="M0 90h120"/>' if plan.texture else ""
    if not plan.motif:
        return f"{grain}{plan.layout.ground}{plan.layout.default}"
    x, y, scale = plan.layout.motif
    motif = f'<g transform="translate({x:g} {y:g}) scale({scale:g})">{plan.motif}</g>'
    return f"{grain}{plan.layout.ground}{motif}"


def _render_line(line: CoverLine) -> str:
    start = "" if line.anchor == "start" else ' text-anchor="middle"'
    return (
        f'<text class="{line.kind}" font-size="{line.size:g}" x="{line.x:g}" y="{line.y:.4g}"{start}>'
        f"{escape(line.text)}</text>"
    )
