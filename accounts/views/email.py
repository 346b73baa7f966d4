"""Views that change the e-mail address: a request with the password, and verification by a link."""

from collections.abc import Iterable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST
from django.views.generic import FormView, TemplateView

from accounts.forms.account import EmailForm
from accounts.mail import addresses
from accounts.models import EmailChange
from accounts.views.limits import FormLimit, LimitedFormMixin, make_link_limit
from accounts.views.passwords import make_password_limit
from accounts.views.too_many import render_too_many
from common.web import get_user_id, personal_page


@method_decorator([sensitive_post_parameters("password"), personal_page], name="dispatch")
class ChangeEmail(LimitedFormMixin, FormView):
    """Request another address."""

    template_name = "accounts/email_change.html"
    form_class = EmailForm
    kept = ("email",)

    def limits(self) -> Iterable[FormLimit]:
        return [make_password_limit(self.request.user.pk), make_link_limit(self.request.POST.get("email", ""))]

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "user": self.request.user}

    def form_valid(self, form: EmailForm) -> HttpResponse:
        email = form.cleaned_data["email"]
        addresses.request_change(form.user, email)
        text = _("We sent a link to %(email)s. Your email address changes when you open the link.")
        messages.success(self.request, text % {"email": email})
        return HttpResponseRedirect(reverse("accounts:account"))


@require_POST
@personal_page
def send_link_again(request: HttpRequest) -> HttpResponse:
    """Send the link to the address that waits for verification again."""
    change = EmailChange.objects.filter(pk=request.user.pk).first()
    if change is not None:
        if wait := make_link_limit(change.email).count_submission():
            return render_too_many(request, wait, _("We have already sent several emails to this address."))
        addresses.send_link(change.pk)
        messages.success(request, _("We sent a link to %(email)s.") % {"email": change.email})
    return HttpResponseRedirect(reverse("accounts:account"))


@method_decorator(personal_page, name="dispatch")
class ConfirmEmail(TemplateView):
    """The page of the link. Its button sets the address, not the visit alone, because mail scanners follow links.

    Only the requesting user may set it, so that the owner of a mistyped address cannot take over the account.
    """

    template_name = "accounts/email_confirm.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        wish = addresses.find_request(get_user_id(self.request), kwargs["token"])
        return super().get_context_data(**kwargs) | {"wish": wish}

    def post(self, request: HttpRequest, token: str) -> HttpResponse:
        if not addresses.verify_address(get_user_id(request), token):
            return self.get(request, token=token)
        messages.success(request, _("Your email address was changed."))
        return HttpResponseRedirect(reverse("accounts:account"))
