"""What happens in a whole network?

The brokers of `overlay`, many of them, on one clock: with links that take time and break, brokers
that are busy or crash, clients that come and go, and an oracle that knows who should have got what.
From the bottom up:

- `clock`: what happens next, and when
- `size`: how many bytes a message takes
- `link`: how long it is under way; `cost`: how long a broker works on it
- `topology`: what overlays look like
- `seat`: a client at its broker
- `memory`: what a broker still knows after a crash
- `node`: a broker at its place, and what waits for it
- `spread`: where a subscription has arrived; `oracle`: who should have got an event
- `service`: how inputs become effects, and effects inputs of others
- `network`: all of it together, and what can be done to it
- `counters`: what has happened, in numbers

Networks from a file

- `section`: whether what a file says is what it should say
- `draws`: which value something has, this time; `named`: workloads by name
- `supply`: where filters and events come from; `mixture`: those of several kinds
- `workload`: what clients do; `scenario`: which network, and what happens to it

For people

- `report`: tables for the terminal; `picture`: the overlay as an SVG
- `sequence`: who said what to whom, in order
"""
