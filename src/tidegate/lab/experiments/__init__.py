"""What do the documents claim, and how is it tried?

- `experiment`: what an experiment is: grid, point, row, plot, claim; `rows`: what one has found
- `printed`: what the documents print, and where; the data are in `printed.toml`
- `catalogue`: all experiments, by name
- `subsumption`: of Jafarpour and others; `negative_spaces`: who finds what redundant
- `mbd`: of Li and others; `mbd_growth`: what a subscription takes; `diagrams`: tables of diagrams,
  filled and merged; `naive_scan`: the table that is scanned
- `pruning`: of Bittner and Hinze; `pruned_tables`: one broker that prunes; `pruned_lines`: five;
  `ratings`: all policies, by six parameters
- `parametric`: of Jayaram and others
- `xnet_routing`: of Chand, on tables that count; `xroute_overlay`: the routers; `xnet_search`: of
  Chand, on containment; `pattern_sets`: the sets that are searched; `xnet_metric`: of Chand, on
  similarity
- `planetlab`: a network across the Internet; `xnet_failures`: of Chand, on what fails there
- `peer_overlays`: trees and graphs of very many peers; `xnet_trees`: of Chand, on overlays by
  containment; `xnet_graphs`: on overlays by similarity
- `trials`: histories of networks, and `peer_trials`: of peers, in which something is to hold;
  `thesis_texts`: examples of Chand; `xnet_thesis`: whether all that is as it says
- `rehearsal`: points that cost time and need nothing, to try a cluster
"""
