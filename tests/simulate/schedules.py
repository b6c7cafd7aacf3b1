"""Schedules of faults, drawn at random: what happens to a network whose brokers have parents."""

from random import Random
from typing import Any

from tests.simulate.networks import between
from tests.simulate.parents import TICK, rooted, wait
from tidegate.simulate.network import Network


class Schedule:
    """A network that lives through faults; the seed decides everything."""

    def __init__(
        self,
        seed: int,
        policy: str,
        *,
        advertisements: bool,
        steps: int = 18,
        silences: bool = False,
    ) -> None:
        self.random = Random(seed)
        self._falling_silent = Random(seed + 1) if silences else None
        self._silent: dict[str, int] = {}  # brokers that take nothing up, in this generation
        self.network = self._made(policy, advertisements)
        self.down: list[str] = []
        self.cuts: list[tuple[str, str]] = []
        self.dead = 0
        self._steps = steps

    def _made(self, policy: str, advertisements: bool) -> Network:
        random = self.random
        names = [f"b{i}" for i in range(random.randint(2, 6))]
        above = {name: random.choice(["r", *names[:i]]) for i, name in enumerate(names)}
        backups = {}
        for name in names:
            others = [x for x in ("r", *names) if x not in (name, above[name])]
            backups[name] = random.sample(others, random.randint(0, min(3, len(others))))
        net = rooted(above, backups, policy, advertisements=advertisements, memory=4)
        for i in range(3):
            net.client(f"c{i}", random.choice(["r", *names]))
        for i in range(2):
            publisher = net.client(f"p{i}", random.choice(["r", *names]))
            if advertisements:
                publisher.advertise(between(0, 25))
        return net

    def live(self) -> None:
        """Let it all happen, repair what can be, and wait until it is quiet."""
        random, net = self.random, self.network
        for _ in range(self._steps):
            net.run(net.now + random.choice((0, 0.004, 0.02, 0.5 * TICK, 3 * TICK)))
            self._act()
            if self._falling_silent is not None:
                self._fall_silent(self._falling_silent)
            if random.random() < 0.5:
                self._fail()
        for name in list(self._silent):
            self._speak(name)
        while self.down:
            self._restart()
        while self.cuts:
            net.mend(*self.cuts.pop())
        wait(net, 150)

    def _fall_silent(self, random: Random) -> None:
        """Let a broker take nothing up for a while, so that it is suspected, wrongly."""
        name = random.choice(list(self.network.nodes))
        node = self.network.nodes[name]
        if name in self._silent:
            self._speak(name)
        elif node.up and not node.busy and random.random() < 0.4:
            self._silent[name] = node.generation
            node.busy = True

    def _speak(self, name: str) -> None:
        node = self.network.nodes[name]
        if self._silent.pop(name) == node.generation and node.up:
            node.busy = False
            if node.queue:
                self.network.service._take(node)

    def _act(self) -> None:
        random, net = self.random, self.network
        client = net.clients[f"c{random.randrange(3)}"]
        low = random.randint(0, 20)
        if random.random() < 0.6 or not client.wanted:
            client.subscribe(between(low, low + random.randint(0, 8)))
        else:
            client.cancel(random.choice(list(client.wanted)))
        net.clients[f"p{random.randrange(2)}"].publish({"x": random.randint(0, 25)})

    def _fail(self) -> None:
        random, net = self.random, self.network
        what, names = random.random(), list(net.nodes)
        up = [name for name in names if net.nodes[name].up]
        if what < 0.3 and up:
            self.down.append(random.choice(up))
            net.crash(self.down[-1])
        elif what < 0.4 and len(up) > 2 and self.dead < 2:
            self.dead += 1
            net.die(random.choice([name for name in up if name != "r"] or up[1:]))
        elif what < 0.65:
            one, other = self._link()
            net.cut(one, other)
            self.cuts.append((one, other))
        elif what < 0.8 and self.down:
            self._restart()
        elif self.cuts:
            net.mend(*self.cuts.pop(random.randrange(len(self.cuts))))

    def _link(self) -> tuple[str, str]:
        nodes = self.network.nodes
        lanes = [(one, other) for one, node in nodes.items() for other in node.outgoing]
        return self.random.choice(lanes)

    def _restart(self) -> None:
        name = self.down.pop(self.random.randrange(len(self.down)))
        self.network.restart(name, memory=self.random.random() < 0.7)


def replay(seed: int, policy: str, advertisements: bool, **more: Any) -> Network:
    """The network after a schedule."""
    schedule = Schedule(seed, policy, advertisements=advertisements, **more)
    schedule.live()
    return schedule.network
