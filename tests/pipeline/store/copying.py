"""A worker that maps a base of a remote store: `python copying.py STORE BASE VERSION`."""

import sys

from tidegate.pipeline.matching.matcher import kept_matcher

if __name__ == "__main__":
    store, base, version = sys.argv[1:]
    print(len(kept_matcher(store, base, int(version)).part(0).index))
