"""The view that changes the name."""

from collections.abc import Iterable
from typing import Any, Final

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.generic import FormView

from accounts.forms.account import NameForm
from accounts.users.renaming import change_name, find_next_change
from accounts.views.limits import FormLimit, LimitedFormMixin
from accounts.views.passwords import make_password_limit
from common.web import get_user_id, personal_page

DAY_SECONDS: Final = 86_400
MAX_NAMES_PER_DAY: Final = 20  # which a user may try, since a refusal tells that a name exists


@method_decorator([sensitive_post_parameters("password"), personal_page], name="dispatch")
class ChangeName(LimitedFormMixin, FormView):
    """Change the name. The password is checked first, so a stolen session does not suffice."""

    template_name = "accounts/name.html"
    form_class = NameForm
    kept = ("username",)

    def limits(self) -> Iterable[FormLimit]:
        user_id = get_user_id(self.request)
        return [make_password_limit(user_id), FormLimit("name", user_id, MAX_NAMES_PER_DAY, DAY_SECONDS, is_kept=True)]

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "user": self.request.user}

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"next_change": find_next_change(get_user_id(self.request))}

    def form_valid(self, form: NameForm) -> HttpResponse:
        try:
            change_name(get_user_id(self.request), form.cleaned_data["username"])
        except ValidationError as error:
            form.add_error("username", error)
            return self.form_invalid(form)
        messages.success(self.request, _("Your name is now %(name)s.") % {"name": form.cleaned_data["username"]})
        return HttpResponseRedirect(reverse("accounts:account"))
