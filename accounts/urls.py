"""URLs of this application."""

from django.urls import path

from accounts.second_factor.views import checking, managing
from accounts.views import account, email, entry, leaderboard, name, passwords, personal, preferences, resume, sessions

app_name = "accounts"
urlpatterns = [
    path("", account.account, name="account"),
    path("register/", entry.Register.as_view(), name="register"),
    path("login/", entry.LogIn.as_view(), name="login"),
    path("login/factor/", checking.LoginFactor.as_view(), name="login_factor"),
    path("resume/<key>/", resume.resume, name="resume"),
    path("confirm/", checking.Confirm.as_view(), name="confirm"),
    path("factors/", managing.Factors.as_view(), name="factors"),
    path("factors/app/", managing.AddApp.as_view(), name="factor_app"),
    path("factors/passkey/", managing.AddPasskey.as_view(), name="factor_passkey"),
    path("factors/remove/", managing.RemoveFactor.as_view(), name="factor_remove"),
    path("factors/codes/", managing.RenewCodes.as_view(), name="factor_codes"),
    path("logout/", entry.LogOut.as_view(), name="logout"),
    path("name/", name.ChangeName.as_view(), name="name"),
    path("preferences/", preferences.preferences, name="preferences"),
    path("sessions/", sessions.Sessions.as_view(), name="sessions"),
    path("leaderboard/", leaderboard.leaderboard, name="leaderboard"),
    # The same paths as in ``django.contrib.auth.urls``.
    path("password_change/", passwords.Change.as_view(), name="password_change"),
    path("password_reset/", passwords.Reset.as_view(), name="password_reset"),
    path("password_reset/done/", passwords.ResetDone.as_view(), name="password_reset_done"),
    path("reset/<uidb64>/<token>/", passwords.ResetConfirm.as_view(), name="password_reset_confirm"),
    path("reset/done/", passwords.ResetComplete.as_view(), name="password_reset_complete"),
    path("download/", personal.Download.as_view(), name="download"),
    path("delete/", personal.Delete.as_view(), name="delete"),
    path("keep/", personal.keep, name="keep"),
    path("email/", email.ChangeEmail.as_view(), name="email"),
    path("email/again/", email.send_link_again, name="email_again"),
    path("email/<token>/", email.ConfirmEmail.as_view(), name="email_confirm"),
]
