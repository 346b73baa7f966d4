"""Text that people type: the form that all spellings of a name or word share, and the comparison of addresses."""

from common.text.folding import fold, fold_address

__all__ = ["fold", "fold_address"]
