"""Views that download personal data and delete the account. Both require the password again."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout
from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST
from django.views.generic import FormView

from accounts.deletion import services as deletion
from accounts.deletion import tokens
from accounts.forms.account import OwnPasswordForm
from accounts.personal.registry import all_parts
from accounts.second_factor import entering, factors, pending
from accounts.views.answers import render_suspended
from accounts.views.limits import FormLimit, LimitedFormMixin
from accounts.views.passwords import make_password_limit
from common.web import personal_page, redirect_to_view


@method_decorator([sensitive_post_parameters("password"), personal_page], name="dispatch")
class OwnPasswordView(LimitedFormMixin, FormView):
    """A form that asks only for the current password."""

    form_class = OwnPasswordForm

    def limits(self) -> Iterable[FormLimit]:
        return [make_password_limit(self.request.user.pk)]

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "user": self.request.user}


class Download(OwnPasswordView):
    """Stream all personal data of the user as a JSON file."""

    template_name = "accounts/download.html"

    def form_valid(self, form: OwnPasswordForm) -> Any:
        headers = {"Content-Disposition": 'attachment; filename="diptych-data.json"'}
        return StreamingHttpResponse(iter_json(form.user.pk), content_type="application/json", headers=headers)


def iter_json(user_id: int) -> Iterator[str]:
    """Yield the text of a JSON object with a list of rows per part. Only a few rows are in memory at a time."""
    encoder = DjangoJSONEncoder(ensure_ascii=False)
    between = "{"
    for part in all_parts():
        if part.read is None:
            continue
        yield f"{between}\n{json.dumps(part.name)}: ["
        between = ","
        for number, row in enumerate(part.read(user_id)):
            yield f"{',' if number else ''}\n  {encoder.encode(row)}"
        yield "]"
    yield "\n}\n"


class Delete(OwnPasswordView):
    """Request the deletion of the user's own account."""

    template_name = "accounts/delete.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"days": settings.ACCOUNT_DELETION_DAYS}

    def form_valid(self, form: OwnPasswordForm) -> HttpResponse:
        due = deletion.request_deletion(form.user)
        logout(self.request)
        text = _("Your account will be deleted on %(day)s. To keep it, log in before that day.")
        messages.success(self.request, text % {"day": date_format(localtime(due))})
        return HttpResponseRedirect(reverse("accounts:login"))


@require_POST
@never_cache
@sensitive_post_parameters("token")
def keep(request: HttpRequest) -> HttpResponse:
    """Cancel a deletion and log in, with the signed token from the login page and the second factor if there is one."""
    owner, target = tokens.find_owner(request.POST.get("token", "")), reverse("accounts:account")
    if owner is not None and factors.has_factor(owner.pk):
        pending.begin(request, owner, target, keeps_account=True)
        return redirect_to_view("accounts:login_factor")
    user = deletion.cancel_deletion(owner) if owner else None
    if user is None:
        messages.error(request, entering.get_expired_message())
        return redirect_to_view("accounts:login")
    if not user.is_active:
        return render_suspended(request, user)
    messages.success(request, entering.get_kept_message(user))
    return entering.continue_login(request, user, target)
