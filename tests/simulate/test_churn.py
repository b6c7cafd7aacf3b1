"""A network that is simulated for long keeps a record of deliveries, and grows by nothing else."""

import gc

import pytest

from tests.reach import assert_flat, reached
from tidegate.algebra import groups, union
from tidegate.engine.boxes import box_store, integer_boxes, space
from tidegate.overlay import conversation
from tidegate.overlay.attributes import Attributes
from tidegate.overlay.policy import Choice
from tidegate.overlay.settings import Settings
from tidegate.simulate import size
from tidegate.simulate.network import Network, Setup
from tidegate.simulate.topology import line


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["covering", "subsumption", "merging"])
def test_a_network_in_which_everything_is_replaced_does_not_grow(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(integer_boxes, "_TAIL", 8)
    monkeypatch.setattr(space, "_CHURN", 16)
    monkeypatch.setattr(box_store, "_IDLE", 16)
    monkeypatch.setattr(union, "_STALE", 16)
    monkeypatch.setattr(groups, "_MOST_TRIED", 64)
    monkeypatch.setattr(size, "_REMEMBERED", 32)
    monkeypatch.setattr(conversation, "_REASONS", 4)
    kind = Attributes()
    limits, setup = Settings(filter_size=100), Setup(memory=20, check="index")
    network = Network(line(2), kind, Choice(policy), limits, setup)
    clients = [network.client(f"c{i}", f"b{i}") for i in range(2)]
    variables = [client.variable(0, damping=2, predict=2) for client in clients]

    def replace(number: int) -> None:
        for client in clients:
            for own in list(client.wanted):
                client.cancel(own)
            made = [
                client.subscribe(kind.parse(f"v{100 + number} = {i} OR t = 'text {number}'"))
                for i in range(1000, 1006)
            ]
            client.update(made[0], kind.parse(f"v{100 + number} = 9999 OR t = 'no {number}'"))
            client.change(made[1], kind.parse(f"w = 'changed {number}'"))
            client.change(made[2], kind.parse(f"w = '{'refused' * 20} {number}'"))
        for client, variable in zip(clients, variables, strict=True):
            client.subscribe(f"v{100 + number} = :v", v=variable)
            variable.set(number % 7)
            variable.set(number)
        network.run()
        for client in clients:
            client.publish({f"v{100 + number}": 1001, "t": f"text {number}"})
        network.run()
        if number % 6 == 5:
            network.crash("b0")
            network.run(network.now + 5)
            network.restart("b0", memory=number // 6 % 2 == 0)
            network.run()
            gc.collect()  # the broker that failed

    assert_flat(50, replace, lambda: reached(network, without=(network.service.delays,)))
    assert len(network.service.delays) >= 4 * 50
