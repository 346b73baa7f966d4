"""Addresses of reports, decisions and appeals."""

from django.urls import path

from social.moderation.views import notices, reports

app_name = "moderation"
urlpatterns = [
    path("report/<kind>/<target>/", reports.report, name="report"),
    path("reports/", notices.own_notices, name="notices"),
    path("reports/<slug:key>/", notices.report_status, name="report_status"),
    path("decisions/<slug:key>/", notices.decision, name="decision"),
]
