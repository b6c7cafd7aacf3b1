"""Moto's server, which takes one request at a time.

To create an object if it is not there, it looks and then writes: two that ask at once might both be
told that they have created it, which no real store does.
"""

import threading
from typing import Any

from moto import server
from moto.moto_server.werkzeug_app import DomainDispatcherApplication


class OneAtATime(DomainDispatcherApplication):
    turn = threading.Lock()

    def __call__(self, *request: Any) -> Any:
        with self.turn:
            return super().__call__(*request)


if __name__ == "__main__":
    setattr(server, "DomainDispatcherApplication", OneAtATime)  # noqa: B010
    server.main()
