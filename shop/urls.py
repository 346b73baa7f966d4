"""Addresses of the shop."""

from django.urls import URLPattern

app_name = "shop"
urlpatterns: list[URLPattern] = []
