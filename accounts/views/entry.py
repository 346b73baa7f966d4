"""Register, log in, log out: Django's own views where there are any."""

from typing import Any

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.views import LoginView, LogoutView, RedirectURLMixin
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.utils.decorators import method_decorator
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.debug import sensitive_post_parameters
from django.views.generic import FormView

from accounts import services
from accounts.forms import RegisterForm

BACKEND = "django.contrib.auth.backends.ModelBackend"


class LogIn(LoginView):
    """Log in and go on to ``next``; other hosts are never gone to."""

    template_name = "accounts/login.html"
    redirect_authenticated_user = True


class LogOut(LogoutView):
    """Log out. By POST only: a picture on another site must not do it."""

    http_method_names = ["post", "options"]

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = super().post(request, *args, **kwargs)
        messages.success(request, _("You are logged out."))
        return response


@method_decorator([sensitive_post_parameters(), csrf_protect, never_cache], name="dispatch")
class Register(RedirectURLMixin, FormView):
    """Make a user, log them in and go on to ``next``, as logging in does."""

    template_name = "accounts/register.html"
    form_class = RegisterForm
    next_page = "/"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated:
            return HttpResponseRedirect(self.get_success_url())
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: RegisterForm) -> HttpResponse:
        given = form.cleaned_data
        try:
            user = services.register(given["username"], given["password1"])
        except ValidationError as error:  # somebody took the name since the form was checked
            form.add_error("username", error.messages)
            return self.form_invalid(form)
        login(self.request, user, backend=BACKEND)
        messages.success(self.request, _("Welcome, %(name)s.") % {"name": user.username})
        return HttpResponseRedirect(self.get_success_url())

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        next_page = {self.redirect_field_name: self.get_redirect_url()}
        return super().get_context_data(**kwargs) | next_page
