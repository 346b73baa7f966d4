"""Text that people type: cleaning it, the form that all spellings of a name or word share, and comparing addresses."""

from common.text.excerpts import shorten_text
from common.text.folding import fold, fold_address
from common.text.invisible import remove_invisible
from common.text.typed import clean_parameter, is_clean

__all__ = ["clean_parameter", "fold", "fold_address", "is_clean", "remove_invisible", "shorten_text"]
