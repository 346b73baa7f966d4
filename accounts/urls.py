"""Addresses."""

from django.urls import path

from accounts import views

app_name = "accounts"
urlpatterns = [
    path("register/", views.Register.as_view(), name="register"),
    path("login/", views.LogIn.as_view(), name="login"),
    path("logout/", views.LogOut.as_view(), name="logout"),
]
