"""The context of a page in ``response.context`` of the test client.

Django records the contexts of its own language only, and copies that of every included template: one page with a list
of countries has thousands.
"""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest
from django.template import Context
from django.template import Template as DjangoTemplate
from django.template.backends.jinja2 import Template
from django.test import utils
from django.test.signals import template_rendered

render = Template.render


def install() -> None:
    """Send Django's signal for each rendered page, and not for the templates that it includes."""
    Template.render = _render_and_tell  # type: ignore[method-assign]
    utils.instrumented_test_render = _render_and_tell_once  # type: ignore[attr-defined]


def _render_and_tell(
    self: Template, context: Mapping[str, Any] | None = None, request: HttpRequest | None = None
) -> str:
    given = dict(context or {})
    template_rendered.send(sender=self, template=self, context=dict(given))
    return render(self, given, request)


def _render_and_tell_once(self: DjangoTemplate, context: Context) -> str:
    if context.template is self:  # otherwise it is a part of that template
        template_rendered.send(sender=self, template=self, context=context)
    return self.nodelist.render(context)
