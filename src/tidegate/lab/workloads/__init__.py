"""What do the papers' experiments run on?

Every workload is drawn from a seed. Each free choice is a named parameter with a default and a
reason.

- `rectangles`: of the experiments on subsumption
- `matching`: subscriptions and events for the engine's benchmarks; `padres`: sets A and B of
  predicates; `covered`: how many of a set others cover, counted exactly
- `books`: what is on auction; `auctions`: three classes of subscriptions to that
- `trade`: alert rules on trades
- `movement`: subscriptions that move; `trading`: limits of traders; `highway`: cars
- `redundant`: rules of which it is known what is redundant; `mixed`: rules as people write them
- `dtds`: types of documents; `xml_documents`: documents of them; `xml_patterns`: subscriptions to
  these; `xml_paths`: paths, with predicates and branches, as another generator makes them
- `streams`: any of them in tables of bounded size, each made by itself, however many there are
- `sources`: those of them that a scenario of the simulator can name
"""
