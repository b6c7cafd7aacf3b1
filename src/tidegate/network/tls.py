"""Who is at the other end of a connection, and who else can read it?

TLS 1.2 or newer. Both ends trust one **authority**, usually a private one: the certificates it has
signed are all that are believed. What a certificate is for are its names: the DNS names of its
`subjectAltName`, letter by letter. A broker's has its name; a client's, if it has one, has the
client's. A client also compares the address that it dials with the broker's certificate, as
browsers do, so that one has the broker's host, too.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidegate.errors import TidegateError


@dataclass(frozen=True, slots=True)
class Tls:
    """Files in PEM: the authority that is trusted, and one's own certificate with its key.

    A broker has a certificate; a client may do without one, and say its token instead.
    """

    authority: Path
    certificate: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.key is None):
            raise TidegateError("a certificate and its key are given together")

    def for_listening(self) -> ssl.SSLContext:
        """For a broker that is dialed: whoever has a certificate has to show a good one."""
        if self.certificate is None:
            raise TidegateError("a broker needs a certificate and its key")
        return self._context(ssl.PROTOCOL_TLS_SERVER, ssl.CERT_OPTIONAL)

    def for_linking(self) -> ssl.SSLContext:
        """For a broker that dials another: its name is compared, not its host."""
        return self._context(ssl.PROTOCOL_TLS_CLIENT, ssl.CERT_REQUIRED, check_host=False)

    def for_client(self) -> ssl.SSLContext:
        """For a client."""
        return self._context(ssl.PROTOCOL_TLS_CLIENT, ssl.CERT_REQUIRED)

    def _context(
        self, protocol: int, verify: ssl.VerifyMode, *, check_host: bool = True
    ) -> ssl.SSLContext:
        context = ssl.SSLContext(protocol)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.check_hostname = check_host and protocol == ssl.PROTOCOL_TLS_CLIENT
        context.verify_mode = verify
        try:
            context.load_verify_locations(self.authority)
            if self.certificate is not None:
                context.load_cert_chain(self.certificate, self.key, password=_no_password)
        except OSError as error:  # what is wrong in a file is an `SSLError`, which is one, too
            files = ", ".join(str(x) for x in (self.authority, self.certificate, self.key) if x)
            raise TidegateError(f"one of {files} cannot be used: {error.strerror}") from None
        return context


def _no_password() -> str:
    raise TidegateError("the key is encrypted: give one that is not, and that only you can read")


def names_of(certificate: Mapping[str, Any] | None) -> frozenset[str]:
    """The names that a certificate is for, as `ssl` tells it; none if there is no certificate.

    >>> names_of({"subjectAltName": (("DNS", "a"), ("IP Address", "127.0.0.1"))})
    frozenset({'a'})
    """
    found = (certificate or {}).get("subjectAltName", ())
    return frozenset(name for sort, name in found if sort == "DNS")
