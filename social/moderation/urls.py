"""Addresses of reports, decisions and appeals."""

from django.urls import path

from social.moderation.views import notices, reports

app_name = "moderation"
urlpatterns = [
    path("report/<kind>/<target>/", reports.report, name="report"),
    path("reports/", notices.own_notices, name="notices"),
    path("reports/<key>/", notices.report_status, name="report_status"),
    path("decisions/<key>/", notices.decision, name="decision"),
]
