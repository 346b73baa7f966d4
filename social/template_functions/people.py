"""Pictures of readers, and the parts of profiles."""

from typing import Final

from django.utils.html import format_html
from django.utils.safestring import SafeString

from catalog.covers import draw_portrait
from common.paths import make_path
from common.rendered import remember_rendered
from social.content.html import to_html
from social.profiles.pictures import AVATARS, SIZES

MAX_BYTES: Final = 2_000_000  # of remembered pictures; each takes about 300 bytes
SHOWN_SIZES: Final = (40, 128)  # pixels, in small and large
# No request to another site, and none for readers without a picture. The alternative text is empty, because the name
# stands beside the picture.
_FILE: Final = '<img class="avatar" src="{}" width="{}" height="{}" alt="" loading="lazy" decoding="async">'


@remember_rendered(MAX_BYTES)
def avatar(user_id: int, name: str, picture: str, is_large: bool = False) -> SafeString:
    """Return a reader's picture, or a drawn one with the initial and a colour of the reader's own."""
    size = SHOWN_SIZES[is_large]
    if picture:
        file = AVATARS.build_file_name(picture, SIZES[is_large])
        return format_html(_FILE, make_path("social:picture", file), size, size)
    return draw_portrait(user_id, name, size)


def post_text(text: str) -> SafeString:
    """Return a text with links as in posts. It mentions no one."""
    return to_html(text)
