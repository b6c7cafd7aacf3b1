"""Is a token good that somebody else has signed?

A **JSON Web Token** (RFC 7519) says who a client is, what its role is, and until when that holds;
whoever holds the key has signed it. It is read by PyJWT. What a broker demands, beside a good
signature (RFC 8725, "JSON Web Token Best Current Practices"):

- The **algorithm** is one of those that the broker's file lists. All of them are of one family, and
  the key belongs to that family: else a token could be signed with HMAC, and with the public key,
  which everybody knows, as the secret. `none` is no algorithm. What a token says of keys of its own
  (`jwk`, `jku`, `x5u`, `kid`) is not looked at.
- `iss` and `aud` are those of the broker's file, so a token for somebody else is not good here.
- `sub` is the name of the client, `exp` is there and in the future, and a claim names its role.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import jwt

from tidegate.errors import FrameError, TidegateError

FAMILIES: Final[dict[str, str]] = {
    **dict.fromkeys(("HS256", "HS384", "HS512"), "HMAC"),
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "RSA"),
    **dict.fromkeys(("ES256", "ES384", "ES512"), "ECDSA"),
    "EdDSA": "EdDSA",
}
"""The algorithms that there are, and the families of keys."""

_SHAPE: Final = re.compile(r"[\w-]+\.[\w-]+\.[\w-]+", re.ASCII)


def is_web_token(token: str) -> bool:
    """Whether a token is one of these, by its shape; random ones have no dots.

    >>> is_web_token("e30.e30.x"), is_web_token("random")
    (True, False)
    """
    return _SHAPE.fullmatch(token) is not None


class Signed(NamedTuple):
    """What a good token says: the role of a client, and until when (seconds since 1970)."""

    role: str
    until: float


@dataclass(frozen=True, slots=True)
class WebTokens:
    """Whose tokens are good; the key is the public one of whoever signs, or the shared secret."""

    algorithms: tuple[str, ...]
    key: bytes = field(repr=False)
    issuer: str
    audience: str
    claim: str = "role"

    def __post_init__(self) -> None:
        unknown = [each for each in self.algorithms if each not in FAMILIES]
        if unknown or not self.algorithms:
            raise TidegateError(f"jwt.algorithms are some of {', '.join(FAMILIES)}")
        families = {FAMILIES[each] for each in self.algorithms}
        if len(families) > 1:
            raise TidegateError("jwt.algorithms are of one family, that of the key")
        for each in self.algorithms:
            algorithm = jwt.get_algorithm_by_name(each)
            try:
                short = algorithm.check_key_length(algorithm.prepare_key(self.key))
            except (jwt.PyJWTError, ValueError, TypeError) as error:
                raise TidegateError(f"jwt.key is no key for {each}: {error}") from None
            if short:
                raise TidegateError(f"jwt.key is too short for {each}: {short}")

    def read(self, token: str, name: str) -> Signed:
        """What a token says of a client of this name; `FrameError` if it is not good."""
        try:
            found: dict[str, Any] = jwt.decode(
                token,
                self.key,
                algorithms=list(self.algorithms),
                audience=self.audience,
                issuer=self.issuer,
                options={"require": ["exp", "sub", "aud", "iss"], "strict_aud": True},
            )
            until = float(found["exp"])
        except (jwt.PyJWTError, ArithmeticError, ValueError, TypeError, RecursionError) as error:
            raise FrameError(f"{name} is not let in: its token is not good: {error}") from None
        role = found.get(self.claim)
        if found["sub"] != name:
            raise FrameError(f"{name} is not let in: its token is somebody else's")
        if not isinstance(role, str):
            raise FrameError(f"{name} is not let in: its token has no {self.claim}")
        return Signed(role, until)


def read_web_tokens(table: dict[str, Any]) -> WebTokens:
    """What a broker's file says of them."""
    known = {"algorithms", "key", "issuer", "audience", "claim"}
    given = {"claim": "role", **table}
    algorithms = given.get("algorithms")
    if (
        given.keys() != known
        or type(algorithms) is not list
        or not all(isinstance(each, str) for each in algorithms)
        or not all(isinstance(given[each], str) and given[each] for each in known - {"algorithms"})
    ):
        raise TidegateError(
            "jwt has algorithms, a list; key, the name of a file; issuer and audience; and claim,"
            " if it is not role"
        )
    try:
        key = Path(given["key"]).read_bytes()
    except OSError as error:
        raise TidegateError(f"jwt.key: {given['key']} cannot be read: {error.strerror}") from None
    return WebTokens(tuple(algorithms), key, given["issuer"], given["audience"], given["claim"])
