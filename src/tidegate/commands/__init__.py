"""How is it called from a shell?

A module for each command of `tidegate`, and what they have in common:

- `options`: arguments that several commands take, and errors printed without a traceback
- `files`: where results are written
- `rule_files`: how subscriptions come out of files; `formats`: CSV, JSON lines, Parquet
- `subs`: a subscription store; `match`: events from files, notifications into files
- `statistics`: what events look like; `analyse`: what the subscriptions of a store look like
- `cluster`: a command on a cluster of several processes on this machine
- `explain`, `relate`: one filter, and two; `tour`: the language and the index, by examples
- `simulate`: a network of brokers; `compare`: policies, on the same network and workload
- `peers`: a network of peers without brokers
- `broker`: one broker as a process; `network`: all those of a scenario; `publish`, `subscribe` and
  `status`: what clients do; `reaching`: how they reach a broker; `token`: one for a client
- `lab`: the papers' experiments, on Spark
- `demo`: a trading day on Spark; `bench`: our figures beside the alternatives'

`tidegate.cli` puts them together.
"""
