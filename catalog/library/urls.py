"""Addresses of imports and exports."""

from django.urls import path

from catalog.library import views

app_name = "library"
urlpatterns = [
    path("", views.overview, name="overview"),
    path("export.csv", views.export_csv, name="csv"),
    path("export.json", views.export_json, name="json"),
    path("<int:pk>/", views.one_import, name="import"),
    path("<int:pk>/choose/", views.choose, name="choose"),
    path("<int:pk>/missing.csv", views.missing_csv, name="missing"),
    *(
        path(f"<int:pk>/{verb}/", views.run_action, {"verb": verb}, name=verb)
        for verb in ("confirm", "undo", "discard")
    ),
]
