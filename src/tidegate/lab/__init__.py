"""Is it true?

- `workloads`: what the papers' experiments run on
- `matching`: subscriptions and events for the engine's benchmarks; `trade`: alert rules on trades
- `redundant`: rules of which it is known what is redundant; `mixed`: rules as people write them
- `tour`: the language and the index, by examples; `demo`: a trading day on Spark
"""
