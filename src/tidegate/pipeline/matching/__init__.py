"""Who wants these events?

- `tail`: what has changed since a base
- `matcher`: who wants these events at a version, in a worker
- `routing`: where an event has to go
- `notifications`: what comes out for a batch of events
- `run`: what a caller wants, and with which subscriptions a run matches
- `tasks`: what the tasks of Spark do
- `match`: who wants these events, batch or streaming
- `checked_write`: is everything that was written where it is looked for?
- `sinks`: where the notifications of a stream go
- `stream`: how each of them is delivered once
"""
