"""The template engine of the pages: Jinja2, through Django's backend.

Emails, Django admin and templates of libraries stay in Django's own language.
"""

from collections.abc import MutableMapping
from typing import Any, Final

from django.utils.functional import Promise
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, ngettext, npgettext, pgettext
from jinja2 import ChainableUndefined, Environment, Template

from accounts import template_functions as accounts
from accounts.notifications import template_functions as notifications
from catalog import template_functions as catalog
from catalog.search import template_functions as search
from common import template_functions as common
from common.form_parts import get_csrf_field_lazily
from config.pages import beside
from loginlog import template_functions as loginlog
from shop import template_functions as shop
from social import template_functions as social

APPLICATIONS: Final = (common, accounts, notifications, catalog, search, shop, social, loginlog, beside)


class SafeTemplate(Template):
    """A template whose result is safe HTML, as that of Django's language, so that a page may contain it."""

    def render(self, *args: Any, **kwargs: Any) -> SafeString:
        """Return the HTML."""
        context = dict(*args, **kwargs)
        # Django's backend makes a new token for each form of a page.
        if isinstance(context.get("csrf_input"), Promise):
            context["csrf_input"] = get_csrf_field_lazily(context["request"])
        return mark_safe(super().render(context))


class PageEnvironment(Environment):
    """An environment whose templates share one dict of functions."""

    def make_globals(self, d: MutableMapping[str, Any] | None) -> MutableMapping[str, Any]:
        """Return the functions for a template. d: further ones, of this template alone."""
        # With Jinja's ChainMap a sixth of all calls of functions on a book's page compared names of functions.
        return {**self.globals, **d} if d else self.globals


def make_environment(**options: Any) -> Environment:
    """Return the environment with the functions and filters of all applications.

    A missing variable is empty, as in Django's language. Translations take keywords: ``_("Hello %(name)s", name=x)``.
    """
    options["undefined"] = ChainableUndefined  # in DEBUG, Django's default would show the names of missing variables
    environment = PageEnvironment(**options, extensions=["jinja2.ext.i18n"], keep_trailing_newline=True)
    environment.template_class = SafeTemplate
    environment.install_gettext_callables(  # type: ignore[attr-defined]  # added by the extension
        gettext, ngettext, newstyle=True, pgettext=pgettext, npgettext=npgettext
    )
    for application in APPLICATIONS:
        environment.globals.update(application.FUNCTIONS)
        environment.filters.update(application.FILTERS)
    return environment
