"""URLs of notifications."""

from django.urls import path

from accounts.notifications.pages import views

app_name = "notifications"
urlpatterns = [
    path("", views.notifications, name="list"),
    path("<int:pk>/", views.open_notification, name="open"),
    path("read/", views.mark_read, name="read"),
    path("settings/", views.settings_page, name="settings"),
    path("unsubscribe/<token>/", views.unsubscribe, name="unsubscribe"),
]
