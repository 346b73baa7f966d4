"""Certificates for the servers of `deploy/`."""

from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def make_certificates(folder: Path, *names: str) -> None:
    """Write one authority, ``redis-ca.crt``, and for each name a certificate of this machine, with its key."""
    authority, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Authority")])
    ends = now + timedelta(days=1)

    def build(subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, is_authority: bool) -> x509.Certificate:
        here = [x509.DNSName("localhost"), x509.DNSName("books.example"), x509.IPAddress(IPv4Address("127.0.0.1"))]
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(days=1))
        builder = builder.not_valid_after(ends).add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        builder = builder.add_extension(x509.SubjectAlternativeName(here), critical=False)
        return builder.sign(authority, hashes.SHA256())

    pem = serialization.Encoding.PEM
    (folder / "redis-ca.crt").write_bytes(build(issuer, authority, is_authority=True).public_bytes(pem))
    for name in names:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        (folder / f"{name}.crt").write_bytes(build(subject, key, is_authority=False).public_bytes(pem))
        (folder / f"{name}.key").write_bytes(
            key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        )
