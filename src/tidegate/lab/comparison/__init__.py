"""How do policies compare, on the same network and workload?

Bittner and Hinze, "Subscription Tree Pruning: A Structure-Independent Routing Optimization for
General-Purpose Publish/Subscribe Systems" (2006), section 3, name six parameters of a routing
optimisation and rate five of them by argument (Table 1). Here all that Tidegate has, alone and put
together, are measured along the same six. From the bottom up:

- `contestants`: which policies
- `tables`: what stands in routing tables: applicability and memory
- `probes`: which filters a policy can do anything with: expressiveness
- `trial`: what one policy does with a scenario: network load, computation, deregistration
- `measures`: the six parameters of each, beside plain forwarding; `columns`: what is shown of them
- `terminal`: as a table for people; `panels`: as a figure; `page`: both for a browser
"""
