"""What the tests of live brokers may rely on: nothing has to be compiled first."""

import pytest

from tidegate.network.warming import warm


@pytest.fixture(scope="session", autouse=True)
def warmed() -> None:
    """Compiling takes longer than brokers are patient in these tests."""
    warm()
