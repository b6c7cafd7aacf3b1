"""Tokens that somebody else has signed: which are good, and which only look so."""

import asyncio
import base64
import json
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from tests.conftest import LONG
from tests.network.certificates import Authority
from tests.network.live import ANY, until
from tests.network.test_live import play
from tidegate.errors import FrameError, LinkError, TidegateError
from tidegate.network.client import connect
from tidegate.network.guard import Admitted, Guard, read_roles
from tidegate.network.limits import Limits
from tidegate.network.opening import VERSION, Opening
from tidegate.network.process import read_setup
from tidegate.network.server import Server
from tidegate.network.web_tokens import WebTokens, is_web_token
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.broker import Broker

KIND = Attributes()
ROLES = read_roles({"trader": {"see": "price < 50", "publish": "TRUE"}, "none": {}}, KIND)
EC, RSA = ec.generate_private_key(ec.SECP256R1()), rsa.generate_private_key(65537, 2048)
OTHER, ED = ec.generate_private_key(ec.SECP256R1()), ed25519.Ed25519PrivateKey.generate()
SECRET = b"a secret of two and thirty bytes, or more than that"


def public(key: Any) -> bytes:
    pem: bytes = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return pem


def claims(**changes: Any) -> dict[str, Any]:
    now = int(time.time())
    made = {"sub": "ann", "role": "trader", "iss": "us", "aud": "tidegate", "exp": now + 600}
    return {name: value for name, value in {**made, **changes}.items() if value is not None}


def signed(key: Any = EC, algorithm: str = "ES256", **changes: Any) -> str:
    return jwt.encode(claims(**changes), key, algorithm)


def by_hand(head: Any, body: Any, signature: bytes = b"") -> str:
    """A token that no library would make."""

    def part(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    parts = (x if isinstance(x, bytes) else json.dumps(x).encode() for x in (head, body))
    return ".".join(part(each) for each in (*parts, signature))


def hmac_signed(secret: bytes, head: dict[str, Any], body: dict[str, Any]) -> str:
    """A token signed with HMAC, whatever the secret looks like."""
    unsigned = by_hand(head, body).rpartition(".")[0]
    algorithm = jwt.get_algorithm_by_name("HS256")
    signature = base64.urlsafe_b64encode(algorithm.sign(unsigned.encode(), secret)).rstrip(b"=")
    return f"{unsigned}.{signature.decode()}"


OURS = WebTokens(("ES256",), public(EC), "us", "tidegate")


# -- what is read


@pytest.mark.parametrize(
    ("algorithm", "key", "known"),
    [
        ("ES256", EC, public(EC)),
        ("RS256", RSA, public(RSA)),
        ("PS512", RSA, public(RSA)),
        ("EdDSA", ED, public(ED)),
        ("HS256", SECRET, SECRET),
    ],
    ids=["ES256", "RS256", "PS512", "EdDSA", "HS256"],  # keys are others in each process
)
def test_a_good_token_says_who_it_is(algorithm: str, key: Any, known: bytes) -> None:
    token = signed(key, algorithm)
    assert is_web_token(token)
    role, until = WebTokens((algorithm,), known, "us", "tidegate").read(token, "ann")
    assert role == "trader"
    assert until > time.time() + 500


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"exp": int(time.time()) - 1}, "expired"),
        ({"exp": None}, '"exp"'),
        ({"exp": "soon"}, "Expiration Time"),
        ({"nbf": int(time.time()) + 1_000_000}, "not yet valid"),
        ({"iss": "them"}, "issuer"),
        ({"iss": None}, '"iss"'),
        ({"aud": "others"}, "[Aa]udience"),
        ({"aud": ["tidegate", "others"]}, "strict"),
        ({"aud": None}, '"aud"'),
        ({"sub": None}, '"sub"'),
        ({"sub": "bob"}, "somebody else's"),
        ({"sub": "ann/2"}, "somebody else's"),
        ({"role": None}, "has no role"),
        ({"role": ["trader"]}, "has no role"),
        ({"role": {"$ne": ""}}, "has no role"),
    ],
)
def test_a_token_that_says_something_else(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(FrameError, match=why) as refused:
        OURS.read(signed(**changes), "ann")
    assert str(refused.value).startswith("ann is not let in: ")


def hostile() -> dict[str, str]:
    """Tokens that must not be taken, by what is wrong with them."""
    good, body = signed(), claims()
    head, middle, signature = good.split(".")
    with_key = {"alg": "ES256", "jwk": json.loads(jwt.algorithms.ECAlgorithm.to_jwk(OTHER))}
    return {
        "signed by somebody else": signed(OTHER),
        "no algorithm": by_hand({"alg": "none"}, body),
        "no algorithm, in other letters": by_hand({"alg": "nOnE"}, body),
        "no algorithm, and a signature": by_hand({"alg": "none"}, body, b"x" * 64),
        "no word of an algorithm": by_hand({}, body, b"x" * 64),
        "an algorithm that is none": by_hand({"alg": ["ES256"]}, body, b"x" * 64),
        "another algorithm": signed(RSA, "RS256"),
        "another one of the family": by_hand({"alg": "ES512"}, body, b"x" * 132),
        "the public key as a secret": hmac_signed(public(EC), {"alg": "HS256"}, body),
        "the public key as a secret, bare": hmac_signed(
            public(EC).strip(), {"alg": "HS256", "typ": "JWT"}, body
        ),
        "an empty secret": hmac_signed(b"", {"alg": "HS256"}, body),
        "a key of its own": jwt.encode(body, OTHER, "ES256", headers=with_key),
        "where its key is": jwt.encode(
            body, OTHER, "ES256", headers={"jku": "http://127.0.0.1:1/", "kid": "../../key"}
        ),
        "a header that is critical": jwt.encode(body, EC, "ES256", headers={"crit": ["x"]}),
        "no signature": f"{head}.{middle}.",
        "signed by nothing": by_hand({"alg": "ES256"}, body, bytes(64)),
        "another body": f"{head}.{by_hand({}, claims(role='all')).split('.')[1]}.{signature}",
        "two parts": f"{head}.{middle}",
        "four parts": f"{good}.{signature}",
        "no JSON": by_hand(b"\xff\xfe", b"\x00", b"x"),
        "a body that is a list": jwt.api_jws.encode(b"[1]", EC, "ES256"),
        "a body that is deep": jwt.api_jws.encode(b"[" * 40_000, EC, "ES256"),
        "an end beyond all ends": jwt.api_jws.encode(
            json.dumps(body).replace(str(body["exp"]), "1e999").encode(), EC, "ES256"
        ),
        "an end that is no number": jwt.api_jws.encode(
            json.dumps(body).replace(str(body["exp"]), "NaN").encode(), EC, "ES256"
        ),
        "a number too long": jwt.api_jws.encode(
            json.dumps(body).replace(str(body["exp"]), "9" * 5_000).encode(), EC, "ES256"
        ),
        "letters of elsewhere": good.replace("e", "ё", 1),
        "nothing": "..",
    }


@pytest.mark.parametrize("what", [*hostile()])
def test_a_hostile_token_is_refused(what: str) -> None:
    with pytest.raises(FrameError, match="ann is not let in: its token"):
        OURS.read(hostile()[what], "ann")


def test_changed_letters_make_no_token() -> None:
    random, good = Random(3), signed()
    for _ in range(20_000 if LONG else 300):
        changed = list(good)
        for _ in range(random.randint(1, 3)):
            changed[random.randrange(len(changed) - 1)] = random.choice("aAbB01-_.=\0é")
        if (token := "".join(changed)) != good:
            with pytest.raises(FrameError):
                OURS.read(token, "ann")


def believes_what_is_not_signed(patch: pytest.MonkeyPatch) -> None:
    real: Any = jwt.decode

    def decode(*args: Any, options: dict[str, Any], **given: Any) -> Any:
        return real(*args, options={**options, "verify_signature": False}, **given)

    patch.setattr(jwt, "decode", decode)


def without(option: str) -> Callable[[pytest.MonkeyPatch], None]:
    """A mistake: something is not looked at."""

    def mistake(patch: pytest.MonkeyPatch) -> None:
        real: Any = jwt.decode

        def decode(*args: Any, options: dict[str, Any], **given: Any) -> Any:
            require = [each for each in options["require"] if each != option]
            more = {"require": require, f"verify_{option}": False}
            return real(*args, options={**options, **more}, **given)

        patch.setattr(jwt, "decode", decode)

    mistake.__name__ = f"does_not_look_at_{option}"
    return mistake


@pytest.mark.parametrize(
    "mistake",
    [believes_what_is_not_signed, *map(without, ("exp", "nbf", "iss", "aud"))],
    ids=lambda mistake: mistake.__name__,
)
def test_mistakes_are_noticed(
    mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong: list[tuple[str, Any]] = [
        ("exp", int(time.time()) - 1),
        ("nbf", int(time.time()) + 600),
        ("iss", "them"),
        ("aud", "others"),
    ]
    bad = [*hostile().values(), *(signed(**{name: value}) for name, value in wrong)]

    def taken() -> int:
        count = 0
        for token in bad:
            try:
                OURS.read(token, "ann")
                count += 1
            except (FrameError, KeyError):
                pass
        return count

    assert taken() == 0
    mistake(monkeypatch)
    assert taken() > 0


# -- what a broker's file may say


@pytest.mark.parametrize(
    ("algorithms", "key", "why"),
    [
        ((), public(EC), "algorithms are some of"),
        (("none",), b"", "algorithms are some of"),
        (("ES256", "none"), public(EC), "algorithms are some of"),
        (("ES256", "HS256"), public(EC), "of one family"),
        (("RS256", "ES256"), public(RSA), "of one family"),
        (("HS256",), b"short", "too short"),
        (("HS256",), public(RSA), "no key for HS256"),
        (("RS256",), public(EC), "no key for RS256"),
        (("ES256",), b"nonsense", "no key for ES256"),
        (("EdDSA",), b"", "no key for EdDSA"),
    ],
    ids=[
        "no algorithm",
        "none",
        "none beside another",
        "a signature and a secret",
        "two families",
        "a short secret",
        "a public key as a secret",
        "a key of another family",
        "nonsense",
        "nothing",
    ],
)
def test_keys_and_algorithms_fit_each_other(
    algorithms: tuple[str, ...], key: bytes, why: str
) -> None:
    with pytest.raises(TidegateError, match=why):
        WebTokens(algorithms, key, "us", "tidegate")


def test_a_key_is_not_shown() -> None:
    assert "secret" not in repr(WebTokens(("HS256",), SECRET, "us", "tidegate"))


def test_a_file_says_whose_tokens_are_good(tmp_path: Path) -> None:
    key, path = tmp_path / "issuer.pem", tmp_path / "broker.toml"
    key.write_bytes(public(EC))
    head = "name = 'a'\nlisten = '127.0.0.1:0'\n[roles.trader]\nsee = 'price < 50'\n"
    table = f"[jwt]\nkey = '{key}'\nissuer = 'us'\naudience = 'tidegate'\n"
    path.write_text(f"{head}{table}algorithms = ['ES256']\nclaim = 'groups'\n", encoding="utf-8")
    setup = read_setup(path, KIND)
    assert setup.web == WebTokens(("ES256",), public(EC), "us", "tidegate", "groups")
    assert str(setup.roles["trader"].see) == "price < 50"
    assert setup.clients == {}
    with pytest.raises(TidegateError, match="with TLS only"):
        setup.guard()
    for wrong in ("", "algorithms = 'ES256'", "algorithms = ['ES256']\nkeys = 5"):
        path.write_text(head + table + wrong, encoding="utf-8")
        with pytest.raises(TidegateError, match="jwt has algorithms, a list"):
            read_setup(path, KIND)
    path.write_text(head + table.replace(str(key), "nowhere") + "algorithms = ['ES256']")
    with pytest.raises(TidegateError, match="nowhere cannot be read"):
        read_setup(path, KIND)


# -- who is let in with one


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


def test_a_guard_takes_the_role_from_the_token(authority: Authority) -> None:
    guard = Guard(authority.tls("a"), frozenset({"b"}), {}, OURS, ROLES)

    def admitted(name: str, token: str, *names: str) -> Admitted:
        return guard.admit(Opening(VERSION, "client", name, token=token), frozenset(names))

    assert admitted("ann", signed()).rights == ROLES["trader"]
    assert admitted("ann/2", signed(role="none")).rights == ROLES["none"]
    for name, token, why in [
        ("ann", signed(role="admin"), "there is no role 'admin'"),
        ("bob", signed(), "somebody else's"),
        ("b", signed(sub="b"), "b is the name of a broker"),
        ("b/2", signed(sub="b"), "b is the name of a broker"),
        ("ann", "random", "neither its certificate nor its token"),
        ("ann", "", "neither its certificate nor its token"),
    ]:
        with pytest.raises(FrameError, match=why):
            admitted(name, token, "ann")
    with pytest.raises(FrameError, match="no broker ann"):
        guard.admit(Opening(VERSION, "broker", "ann", token=signed()), frozenset({"ann"}))
    without = Guard(authority.tls("a"), frozenset(), {})
    with pytest.raises(FrameError, match="neither its certificate nor its token"):
        without.admit(Opening(VERSION, "client", "ann", token=signed()), frozenset())


def test_a_connection_ends_with_its_token(authority: Authority) -> None:
    async def story() -> None:
        guard = Guard(authority.tls("a"), frozenset(), {}, OURS, ROLES)
        server = Server(Broker("a", Attributes()), ANY, guard=guard, limits=Limits(silence=0.6))
        await server.start()
        run = asyncio.create_task(server.run())
        news: list[tuple[str, str]] = []
        given: dict[str, Any] = {"name": "ann", "tls": authority.alone}
        ann = await connect(
            str(server.address),
            token=signed(exp=int(time.time()) + 2),
            watch=lambda *said: news.append(said),
            **given,
        )
        wanted = await ann.subscribe("price > 0")
        await ann.publish_many([{"price": 60}, {"price": 40}])
        assert (await anext(wanted)).event == {"price": 40}
        await until(lambda: ("lost", "the token is no longer good") in news)
        await until(lambda: any("expired" in why for _, why in news))  # it is not let in again
        assert not server._connections
        with pytest.raises(LinkError, match="its token is not good"):
            await connect(str(server.address), token=signed(OTHER), **given)
        await ann.close()
        server.stop()
        await run

    play(story())
