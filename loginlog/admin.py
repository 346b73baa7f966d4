"""The admin's start page shows the login log (``loginlog.reports.dashboard``)."""

from django.contrib import admin

# The template needs another name. One called "admin/index.html" could not extend the original of the same name, since
# the template loaders would find it twice: its folder is both a template folder and an application's.
admin.site.index_template = "loginlog/admin_index.html"
