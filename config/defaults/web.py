"""Settings of the web server's processes."""

from typing import Final

from config.environment import env

WEB_THREADS: Final = env.int("WEB_THREADS", default=4)  # of each process
# A request with a longer or slower body is refused before it takes a thread. The proxy has the same bound of bytes.
REQUEST_BODY_BYTES = 3 * 1024 * 1024
# Readers upload their libraries and pictures to these paths. The proxy has the same bound there.
UPLOAD_PATHS = ("/library/", "/people/profile/")
UPLOAD_FOLDERS = ("/admin/catalog/book/", "/admin/catalog/author/")  # staff upload covers and photos below these
UPLOAD_BODY_BYTES = 21 * 1024 * 1024
REQUEST_BODY_SECONDS = env.float("REQUEST_BODY_SECONDS", default=20.0)
