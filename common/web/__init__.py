"""Helpers for views: answers in HTML and JSON, redirects, error pages, themes and uploads."""

from common.web import appearance, well_known
from common.web.answers import (
    JSON_TYPE,
    get_user_id,
    is_partial,
    json_error,
    json_response,
    personal_page,
    require_login,
    wants_json,
)
from common.web.appearance import get_theme, language_chosen
from common.web.errors import unavailable
from common.web.kept_forms import KeptForm, forget_forms_of_others, keep_form, take_form
from common.web.readers import get_author, remember_reader
from common.web.redirects import get_next_address, redirect_to, redirect_to_view, redirect_window
from common.web.uploads import accept_files
from common.web.visitors import get_viewer_id, get_visitor

__all__ = [
    "JSON_TYPE",
    "KeptForm",
    "accept_files",
    "appearance",
    "forget_forms_of_others",
    "get_author",
    "get_next_address",
    "get_theme",
    "get_user_id",
    "get_viewer_id",
    "get_visitor",
    "is_partial",
    "json_error",
    "json_response",
    "keep_form",
    "language_chosen",
    "personal_page",
    "redirect_to",
    "redirect_to_view",
    "redirect_window",
    "remember_reader",
    "require_login",
    "take_form",
    "unavailable",
    "wants_json",
    "well_known",
]
