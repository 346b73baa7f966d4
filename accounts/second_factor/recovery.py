"""Recovery codes: shown once, stored as digests, each valid once."""

import base64
import hashlib
import re
import secrets
from typing import Final

from django.db import transaction

from accounts.second_factor.models import RecoveryCode
from common.database import repeat_after_conflict

CODE_COUNT: Final = 10
# 80 bits resist brute force, so a fast hash is enough.
RANDOM_BYTES: Final = 10
CODE_CHARACTERS: Final = RANDOM_BYTES * 8 // 5  # without hyphens


@repeat_after_conflict
def renew_codes(user_id: int) -> list[str]:
    """Replace the codes of a user. Return the new ones, which cannot be read again."""
    codes = [_make_code() for _ in range(CODE_COUNT)]
    with transaction.atomic():
        RecoveryCode.objects.filter(user=user_id).delete()
        RecoveryCode.objects.bulk_create(RecoveryCode(user_id=user_id, digest=_hash_code(code)) for code in codes)
    return codes


def is_code(text: str) -> bool:
    """Return whether a text has the length of a recovery code."""
    return len(_remove_separators(text)) == CODE_CHARACTERS


def use_code(user_id: int, code: str) -> bool:
    """Return whether the code is one of the user's, and delete it. Concurrent uses succeed only once."""
    # The deletion is the check: of two requests with the same code, one deletes the row.
    return RecoveryCode.objects.filter(user=user_id, digest=_hash_code(code)).delete()[0] == 1


def _make_code() -> str:
    text = base64.b32encode(secrets.token_bytes(RANDOM_BYTES)).decode().lower()
    return "-".join(text[start : start + 4] for start in range(0, len(text), 4))


def _hash_code(code: str) -> str:
    return hashlib.sha256(_remove_separators(code).lower().encode(errors="replace")).hexdigest()


def _remove_separators(code: str) -> str:
    return re.sub(r"[\s-]", "", code)
