"""The admin's first page shows the log (``loginlog.dashboard``)."""

from django.contrib import admin

# A template of another name: one called "admin/index.html" cannot say where the one that it extends is to be found,
# because the folder of templates is also an application's and would be found twice.
admin.site.index_template = "loginlog/admin_index.html"
