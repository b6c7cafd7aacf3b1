"""How did the papers do it?

Several papers each keep filters in a structure of their own. All of them are here as their authors
describe them, so that they can be compared with the engine's box store on the same work, and so
that any broker can run on any of them. A structure keeps filters of the language under numbers
that the caller chose, and answers what the box store answers: which filters match an event
(`match`), cover a filter (`containing`), are covered by it (`contained`), overlap it
(`overlapping`); or, for the negative space, whether all of them together cover a filter
(`subsumes`). Where a paper's rule is incomplete, an answer errs outward: a cover may be missed and
an overlap may be claimed, never the other way round.

- `scan`: what it costs to ask one filter after the other
- `limit`: what a structure does when it has met its memory limit
- `predicate_lines`: which predicates on one line hold for a key
- `predicates`: which predicates a table has, and which of them hold for an event
- `mbd`: decision diagrams that share their nodes (Li, Hou, Jacobsen 2005)
- `counting`: predicates counted, Boolean trees in bytes and pruned (Bittner, Hinze 2006)
- `poset`: filters under the filters that cover them (Jayaram, Jayalath, Eugster 2010)
- `negative`: the part of the content space that no filter covers (Jafarpour and others 2008)
- `xtrie`: tree patterns in one trie of substrings (Chan, Felber, Garofalakis, Rastogi 2002)
- `xsearch`: tree patterns that contain each other (Chand, Felber, Garofalakis 2005)
"""
