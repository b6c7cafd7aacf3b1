"""Certificates of a small authority, made as they are needed."""

import datetime as dt
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tidegate.network.tls import Tls


class Authority:
    """Signs certificates, and writes all that is needed into a folder."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder, self._name = folder, name
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = _subject(name)
        basic = x509.BasicConstraints(ca=True, path_length=None)
        made = self._builder(self._subject, self._key.public_key()).add_extension(basic, True)
        self._write(f"{name}.pem", made.sign(self._key, hashes.SHA256()))

    @property
    def alone(self) -> Tls:
        """For a client that has no certificate."""
        return Tls(self._folder / f"{self._name}.pem")

    def tls(self, name: str) -> Tls:
        """For somebody of that name, on this machine."""
        key = ec.generate_private_key(ec.SECP256R1())
        here = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        names = x509.SubjectAlternativeName([x509.DNSName(name), here])
        made = self._builder(_subject(name), key.public_key()).add_extension(names, False)
        stem = f"{self._name}-{name}"
        self._write(f"{stem}.pem", made.sign(self._key, hashes.SHA256()))
        pem = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        (self._folder / f"{stem}.key").write_bytes(pem)
        folder = self._folder
        return Tls(folder / f"{self._name}.pem", folder / f"{stem}.pem", folder / f"{stem}.key")

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._subject)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=1))
        )

    def _write(self, name: str, made: x509.Certificate) -> None:
        (self._folder / name).write_bytes(made.public_bytes(serialization.Encoding.PEM))


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
