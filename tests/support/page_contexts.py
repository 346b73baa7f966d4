"""The context of a page in ``response.context`` of the test client. Django records that of its own language only."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest
from django.template.backends.jinja2 import Template
from django.test.signals import template_rendered

render = Template.render


def install() -> None:
    """Send Django's signal for each rendered template."""
    Template.render = _render_and_tell  # type: ignore[method-assign]


def _render_and_tell(
    self: Template, context: Mapping[str, Any] | None = None, request: HttpRequest | None = None
) -> str:
    given = dict(context or {})
    template_rendered.send(sender=self, template=self, context=dict(given))
    return render(self, given, request)
