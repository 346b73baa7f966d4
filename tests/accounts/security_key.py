"""A security key that signs challenges."""

import hashlib
import json
import secrets
from typing import Any, Final

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from webauthn.helpers import bytes_to_base64url

SITE: Final = "testserver"
PRESENT, ATTESTED = 1, 64  # flags of the authenticator data


class SecurityKey:
    """A security key with one passkey, used by a browser on ``origin``."""

    def __init__(self, origin: str = f"http://{SITE}") -> None:
        self.origin = origin
        self.id = secrets.token_bytes(32)
        self.count = 0
        self._key = ec.generate_private_key(ec.SECP256R1())

    def create(self, options: str) -> str:
        """Return the answer to the registration options of a page that adds a passkey."""
        attested = bytes(16) + len(self.id).to_bytes(2, "big") + self.id + self._public_key()
        data = self._authenticator_data(PRESENT | ATTESTED) + attested
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        client = self._client_data("webauthn.create", options)
        return self._answer(clientDataJSON=client, attestationObject=attestation)

    def get(self, options: str) -> str:
        """Return the signed answer to the options of a page that asks for a passkey."""
        self.count += 1
        data, client = self._authenticator_data(PRESENT), self._client_data("webauthn.get", options)
        signature = self._key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(SHA256()))
        return self._answer(clientDataJSON=client, authenticatorData=data, signature=signature)

    def _authenticator_data(self, flags: int) -> bytes:
        return hashlib.sha256(SITE.encode()).digest() + bytes([flags]) + self.count.to_bytes(4, "big")

    def _client_data(self, kind: str, options: str) -> bytes:
        said = {"type": kind, "challenge": json.loads(options)["challenge"], "origin": self.origin}
        return json.dumps(said).encode()

    def _public_key(self) -> bytes:
        numbers = self._key.public_key().public_numbers()
        x, y = (number.to_bytes(32, "big") for number in (numbers.x, numbers.y))
        return cbor2.dumps({1: 2, 3: -7, -1: 1, -2: x, -3: y})

    def _answer(self, **response: bytes) -> str:
        name = bytes_to_base64url(self.id)
        said: dict[str, Any] = {part: bytes_to_base64url(value) for part, value in response.items()}
        return json.dumps({"id": name, "rawId": name, "type": "public-key", "response": said})
