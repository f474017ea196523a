"""Certificates for tests: authorities, and what they sign."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)


class Identity:
    """A certificate and its key."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
        self.certificate = certificate
        self.key = key

    @property
    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Put the certificate and the key into the folder, each by an atomic rename."""
        paths = folder / "certificate.pem", folder / "key.pem"
        for path, pem in zip(paths, (self.certificate_pem, self.key_pem), strict=True):
            replace(path, pem)
        return paths


class Authority(Identity):
    """Signs others."""

    @classmethod
    def make(cls, name: str) -> Self:
        key = ec.generate_private_key(ec.SECP256R1())
        return cls(_certificate(name, key, name, key, authority=True), key)

    def sign(self, name: str) -> Identity:
        """A certificate for localhost and 127.0.0.1 under this name."""
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = self.certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value
        return Identity(_certificate(name, key, str(issuer), self.key, authority=False), key)


def replace(path: Path, content: bytes) -> None:
    """Change a file as operators should: whole, by a rename."""
    new = path.with_suffix(".new")
    new.write_bytes(content)
    new.rename(path)


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    *,
    authority: bool,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    hosts = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    return (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _DAY)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        .sign(issuer_key, hashes.SHA256())
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
