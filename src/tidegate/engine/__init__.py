"""Which filters does an event meet?

`docs/engine.md` tells it as a story, `docs/architecture.md` as a walk through the files. From the
bottom up:

- `description`: what an index is made of, for people and for programs
- `primitives`: what does the processor do well?
- `events`: what do events become?
- `subscriptions`: what was given, and by which id?
- `conditions`: what does a filter ask of one attribute?
- `partition`: how does a block of 512 events meet many entries?
- `sweep`: how does an event meet entries that are a key and a few ranges?
- `single`: how does one event meet both, at once?
- `segments`: what is compiled, and what of it is still wanted?
- `compile`: how do subscriptions become a segment?
- `changes`: how does an index change while it is read?
- `file`: how does an index lie on disk?
- `boxes`: which of many filters match an event, cover a filter, are covered by it, or overlap it?
- `index`: which subscriptions want an event, while they come, change and go
- `scan`: the same index, the slow and obvious way; the tests hold `index` against it
"""
