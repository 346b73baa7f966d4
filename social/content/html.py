"""A post's text as HTML. Each token is escaped by itself, and finished HTML is never modified."""

from collections.abc import Iterable
from typing import Final

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from accounts.names import make_public_path
from common.paths import make_path
from common.text import fold
from social.content.tokens import Token, tokenise

EXTERNAL_LINK: Final = '<a href="{}" rel="nofollow noopener ugc">{}</a>'
INTERNAL_LINK: Final = '<a href="{}">{}</a>'


def to_html(text: str, mentions: Iterable[str] = ()) -> SafeString:
    """Return ``text`` as HTML with links and line breaks. Only names in ``mentions`` link to a reader's page."""
    known = {fold(name) for name in mentions}
    return mark_safe("".join(_render_token(token) for token in tokenise(text, known.__contains__)))


def _render_token(token: Token) -> str:
    match token.kind:
        case "link":
            return format_html(EXTERNAL_LINK, token.value, token.shown)
        case "hashtag":
            return format_html(INTERNAL_LINK, make_path("social:hashtag", token.value), token.text)
        case "mention":
            return format_html(INTERNAL_LINK, make_public_path(token.value), token.text)
        case "text":
            return escape(token.text).replace("\n", "<br>")
