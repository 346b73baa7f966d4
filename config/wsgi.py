"""The WSGI entry point that the web server loads."""

import os

from django.core.wsgi import get_wsgi_application

from common.database import open_file

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

application = get_wsgi_application()
open_file.keep_open()
