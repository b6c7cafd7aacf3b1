"""Is it true?

- `workloads`: what the papers' experiments run on, as one library
- `experiments`: what the papers claim, and how it is tried; `runner`: all of that, on Spark;
  `report`: what it says; `stopwatch`: CPU time; `aside`: what leaves nothing behind
- `reaction`: how a network follows subscriptions that move
- `communities`: graphs of tens of thousands of peers, by similarity
- `metric`: how well it is estimated how near two patterns are
- `comparison`: what each policy of the brokers saves and costs, on the same network and workload
- `tour`: the language and the index, by examples; `demo`: a trading day on Spark
"""
