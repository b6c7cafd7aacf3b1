"""How the engine is reached from outside: `tidegate.Index`, loaded when it is first asked for."""

import subprocess
import sys

import pytest

import tidegate as tg
from tidegate import Index, Subscription
from tidegate.engine import index
from tidegate.engine.subscriptions import subscription
from tidegate.errors import IndexFileError, SubscriptionError


def printed_by(program: str) -> str:
    """What a new Python prints that runs the program."""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    return run.stdout.strip()


def test_the_index_and_its_errors_are_public() -> None:
    assert tg.Index is Index is index.Index
    assert tg.Subscription is Subscription is subscription.Subscription
    assert tg.SubscriptionError is SubscriptionError
    assert tg.IndexFileError is IndexFileError
    assert isinstance(_one().get("alice"), tg.Subscription)


def _one() -> tg.Index:
    found = tg.Index()
    found.add("alice", "price < 10")
    return found


def test_every_public_name_is_there_and_is_listed() -> None:
    assert sorted(tg.__all__) == tg.__all__
    assert set(tg.__all__) <= set(dir(tg))
    assert all(getattr(tg, name) is not None for name in tg.__all__)


def test_names_are_listed_without_loading_what_they_stand_for() -> None:
    program = (
        "import sys, tidegate\n"
        "print('Index' in dir(tidegate), 'Subscription' in dir(tidegate), 'numba' in sys.modules)"
    )
    assert printed_by(program) == "True True False"


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement", ["tidegate.Index", "from tidegate import Index", "from tidegate import *"]
)
def test_asking_for_the_index_loads_it(statement: str) -> None:
    program = f"import sys, tidegate\n{statement}\nprint('tidegate.engine.index' in sys.modules)"
    assert printed_by(program) == "True"


def test_it_is_loaded_once() -> None:
    assert printed_by("import tidegate\nprint('Index' in vars(tidegate))") == "False"
    program = "import tidegate\ntidegate.Index\nprint('Index' in vars(tidegate))"
    assert printed_by(program) == "True"


def test_a_name_that_does_not_exist_is_said_to_be_missing() -> None:
    with pytest.raises(AttributeError, match="module 'tidegate' has no attribute 'Indexx'"):
        tg.Indexx  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(tg, "ScanIndex")
