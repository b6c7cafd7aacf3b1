"""Which of many tree patterns does a document match, read once from beginning to end?

XTrie: C.-Y. Chan, P. Felber, M. Garofalakis, R. Rastogi, "Efficient filtering of XML documents with
XPath expressions", VLDB Journal 11 (2002), and, as an overview, R. Chand, "Large scale diffusion of
information in Publish/Subscribe systems" (2005), section 3.3.

- `decomposition`: into which substrings a pattern is cut, and how they hang together
- `substring_trie`: which substrings end at a node of a document
- `table`: the rows of all substrings of all patterns
- `matching`: what becomes of a document, tag by tag
- `xtrie`: all of it, with subscriptions by number
"""
