"""A worker that maps a base of a remote store: `python copying.py STORE EVENTS VERSION`."""

import sys

from tidegate.pipeline.matcher import matcher

if __name__ == "__main__":
    store, events, version = sys.argv[1:]
    print(len(matcher(store, events, int(version)).index))
