"""Passkeys (WebAuthn), with py_webauthn. The session stores the challenge of a page, which is valid once.

Few processes ever need py_webauthn, which takes 5 MB with its libraries. So the functions import it.
"""

import ipaddress
from typing import TYPE_CHECKING, Any, Final

from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.http.request import split_domain_port
from django.utils import timezone
from django.utils.crypto import salted_hmac

from accounts.models import User
from accounts.second_factor.models import Passkey

if TYPE_CHECKING:
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor

MAX_PASSKEYS: Final = 20  # per user
CHALLENGE_KEY: Final = "_passkey_challenge"
SITE_NAME: Final = "Diptych"


def can_use_passkeys(request: HttpRequest) -> bool:
    """Return whether the request's host is a name: browsers do not create passkeys for IP addresses."""
    try:
        ipaddress.ip_address(_get_host(request).strip("[]"))
    except ValueError:
        return True
    return False


def make_creation_options(request: HttpRequest, user: User) -> str:
    """Return the browser's options for creating a passkey, as JSON."""
    import webauthn
    from webauthn.helpers import bytes_to_base64url, options_to_json
    from webauthn.helpers.structs import (
        AuthenticatorSelectionCriteria,
        ResidentKeyRequirement,
        UserVerificationRequirement,
    )

    options = webauthn.generate_registration_options(
        rp_id=_get_host(request),
        rp_name=SITE_NAME,
        user_name=user.username,
        user_id=salted_hmac("accounts.second_factor.passkeys", str(user.pk), algorithm="sha256").digest(),
        exclude_credentials=_list_credentials(user.pk),
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.DISCOURAGED, user_verification=UserVerificationRequirement.DISCOURAGED
        ),
    )
    request.session[CHALLENGE_KEY] = bytes_to_base64url(options.challenge)
    return options_to_json(options)


def make_request_options(request: HttpRequest, user_id: int) -> str:
    """Return the browser's options for using a passkey of the user, as JSON; "" if the user has none."""
    import webauthn
    from webauthn.helpers import bytes_to_base64url, options_to_json
    from webauthn.helpers.structs import UserVerificationRequirement

    allowed = _list_credentials(user_id) if can_use_passkeys(request) else []
    if not allowed:
        return ""
    options = webauthn.generate_authentication_options(
        rp_id=_get_host(request),
        allow_credentials=allowed,
        user_verification=UserVerificationRequirement.DISCOURAGED,
    )
    request.session[CHALLENGE_KEY] = bytes_to_base64url(options.challenge)
    return options_to_json(options)


def add_passkey(request: HttpRequest, user_id: int, name: str, credential: str) -> bool:
    """Store the passkey that a browser has created for this page.

    Return False for an invalid response, a known credential, or more than ``MAX_PASSKEYS`` passkeys.
    """
    import webauthn
    from webauthn.helpers import bytes_to_base64url

    try:
        made = webauthn.verify_registration_response(credential=credential, **_make_expectations(request))
    except _list_input_errors():
        return False
    row = Passkey(
        user_id=user_id,
        name=name,
        credential_id=bytes_to_base64url(made.credential_id),
        public_key=made.credential_public_key,
        sign_count=made.sign_count,
    )
    if Passkey.objects.filter(user=user_id).count() >= MAX_PASSKEYS:
        return False
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:  # the credential is known already
        return False
    return True


def has_passkey(user_id: int, credential: str) -> bool:
    """Return whether the user has the passkey that a browser has created."""
    import webauthn
    from webauthn.helpers import bytes_to_base64url

    try:
        made = webauthn.helpers.parse_registration_credential_json(credential)
    except _list_input_errors():
        return False
    return Passkey.objects.filter(user=user_id, credential_id=bytes_to_base64url(made.raw_id)).exists()


def use_passkey(request: HttpRequest, user_id: int, credential: str) -> bool:
    """Return whether the browser has signed the challenge of this page with a passkey of the user.

    A signature counter that does not grow indicates a copied key, so it is refused.
    """
    import webauthn
    from webauthn.helpers import bytes_to_base64url

    try:
        given = webauthn.helpers.parse_authentication_credential_json(credential)
        row = Passkey.objects.filter(user=user_id, credential_id=bytes_to_base64url(given.raw_id)).first()
        if row is None:
            return False
        done = webauthn.verify_authentication_response(
            credential=given,
            credential_public_key=bytes(row.public_key),
            credential_current_sign_count=row.sign_count,
            **_make_expectations(request),
        )
    except _list_input_errors():
        return False
    used = Passkey.objects.filter(pk=row.pk, sign_count=row.sign_count)
    return used.update(sign_count=done.new_sign_count, used_at=timezone.now()) == 1


def _list_input_errors() -> tuple[type[Exception], ...]:
    """Return the errors of py_webauthn for forged input. Deeply nested JSON raises RecursionError."""
    from webauthn.helpers.exceptions import WebAuthnException

    return WebAuthnException, ValueError, KeyError, TypeError, RecursionError


def _make_expectations(request: HttpRequest) -> dict[str, Any]:
    """Return the challenge and the site that a response must name. Raises KeyError without a challenge."""
    from webauthn.helpers import base64url_to_bytes

    return {
        "expected_challenge": base64url_to_bytes(request.session.pop(CHALLENGE_KEY)),
        "expected_rp_id": _get_host(request),
        "expected_origin": f"{request.scheme}://{request.get_host()}",  # one of ALLOWED_HOSTS
    }


def _get_host(request: HttpRequest) -> str:
    return split_domain_port(request.get_host())[0]


def _list_credentials(user_id: int) -> "list[PublicKeyCredentialDescriptor]":
    from webauthn.helpers import base64url_to_bytes
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor

    ids = Passkey.objects.filter(user=user_id).order_by("pk").values_list("credential_id", flat=True)
    return [PublicKeyCredentialDescriptor(id=base64url_to_bytes(each)) for each in ids]
