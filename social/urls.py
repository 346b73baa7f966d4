"""Addresses of what readers say to one another."""

from django.urls import path

from social.views import timelines

app_name = "social"
urlpatterns = [
    path("home/", timelines.home, name="home"),
    path("home/new/", timelines.new, name="new_posts"),
    path("global/", timelines.everybody, name="global"),
]
