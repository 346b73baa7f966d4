"""One file of styles and one of scripts for all pages, joined and minified when static files are collected.

A first visit then loads two files instead of twenty. What few pages need is loaded by these alone. In development,
where nothing is collected, pages load the parts.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.files.base import ContentFile
from django.core.files.storage import Storage
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from rcssmin import cssmin
from rjsmin import jsmin
from whitenoise.storage import CompressedManifestStaticFilesStorage

STYLES: Final = (  # in the order of the cascade
    "css/tokens.css", "css/base.css", "css/layout.css", "css/parts.css", "css/shelf.css", "css/catalog.css",
    "css/search.css", "css/posts.css", "css/shop.css", "css/shelves.css", "css/social_people.css",
)  # fmt: skip
SCRIPTS: Final = (
    "django_htmx/htmx-2.min.js", "site.js", "actions.js", "ago.js", "listbox.js", "search.js", "sale.js",
)  # fmt: skip
# In the folder of their parts, because addresses in styles are relative. With what joins the parts.
BUNDLES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "css/all.css": ("\n", STYLES),
    "all.js": ("\n;\n", SCRIPTS),  # a part may lack the semicolon after its last statement
}
_MINIFIERS: Final[Mapping[str, Callable[[str], str]]] = {".css": cssmin, ".js": jsmin}


class BundledStorage(CompressedManifestStaticFilesStorage):
    """The storage of static files with the bundles, and with hashes in the names of all files."""

    has_bundles: Final = True

    def post_process(
        self, paths: dict[str, tuple[Storage, str]], dry_run: bool = False, **options: Any
    ) -> Iterator[Any]:
        """Write the bundles beside the collected files, then hash and compress all."""
        if not dry_run:
            for name, (between, parts) in BUNDLES.items():
                self.delete(name)  # of the last collection
                text = between.join(_read_file(*paths[part]) for part in parts)
                self._save(name, ContentFile(_MINIFIERS[Path(name).suffix](text).encode()))
                paths[name] = self, name
        yield from super().post_process(paths, dry_run, **options)


def _read_file(storage: Storage, path: str) -> str:
    with storage.open(path) as file:
        return bytes(file.read()).decode()


def render_styles() -> SafeString:
    """Return the elements that load the styles of all pages."""
    return format_html_join("\n  ", '<link rel="stylesheet" href="{}">', _list_addresses("css/all.css"))


def render_scripts() -> SafeString:
    """Return the elements that load the scripts of all pages."""
    return format_html_join("\n  ", '<script src="{}" defer></script>', _list_addresses("all.js"))


def _list_addresses(bundle: str) -> list[tuple[str]]:
    _, parts = BUNDLES[bundle]
    names = (bundle,) if getattr(staticfiles_storage, "has_bundles", False) else parts
    return [(staticfiles_storage.url(name),) for name in names]
