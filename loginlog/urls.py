"""Addresses of the login log's pages."""

from django.urls import path

from loginlog.reports import views

app_name = "loginlog"
urlpatterns = [
    path("", views.calendar, name="calendar"),
    path("active/", views.active_users, name="active"),
    path("users/<int:pk>/", views.user_calendar, name="user"),
    path("report/", views.staff_report, name="report"),
]
