"""Addresses."""

from django.urls import path

from loginlog import views

app_name = "loginlog"
urlpatterns = [
    path("", views.calendar, name="calendar"),
    path("report/", views.staff_report, name="report"),
]
