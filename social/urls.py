"""Addresses of what readers say to one another."""

from django.urls import URLPattern

app_name = "social"
urlpatterns: list[URLPattern] = []
