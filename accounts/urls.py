"""Addresses."""

from django.urls import path

from accounts.views import entry, leaderboard, sessions

app_name = "accounts"
urlpatterns = [
    path("register/", entry.Register.as_view(), name="register"),
    path("login/", entry.LogIn.as_view(), name="login"),
    path("logout/", entry.LogOut.as_view(), name="logout"),
    path("sessions/", sessions.Sessions.as_view(), name="sessions"),
    path("leaderboard/", leaderboard.leaderboard, name="leaderboard"),
]
