"""Is it true?

- `workloads`: what the papers' experiments run on: rectangles; `padres`: sets A and B of predicates
- `covered`: how many of a set others cover, counted exactly
- `auctions`: three classes of subscriptions to the events of `books`, which are on auction
- `matching`: subscriptions and events for the engine's benchmarks; `trade`: alert rules on trades
- `movement`: subscriptions that move; `trading`: limits of traders; `highway`: cars;
  `reaction`: how a network follows them
- `redundant`: rules of which it is known what is redundant; `mixed`: rules as people write them
- `dtds`: types of documents; `xml_documents`: documents of them; `xml_patterns`: subscriptions to
  these; `xml_paths`: paths, with predicates and branches, as another generator makes them
- `sources`: those of them that a scenario of the simulator can name
- `comparison`: what each policy of the brokers saves and costs, on the same network and workload
- `tour`: the language and the index, by examples; `demo`: a trading day on Spark
"""
