"""Can the subscribers do it alone?

Chand, "Large scale diffusion of information in Publish/Subscribe systems" (2005), chapters 7 and 8:
subscribers form an overlay of their own, in which neighbours want much the same, and pass events on
without routing tables.

- `history`: how often events that one filter matches match another one, too
- `proximity`: how near two filters are, by that
- `neighbourhood`: who should be next to whom, by that
- `messages`: what peers say to each other
- `peer`: what a peer does about an event
- `network`: what happens in a network of peers whose links are given

Peers that find their place in a tree by containment:

- `tree_messages`: what they say to each other
- `branch`: who is next to a peer, and where events go; `quest`: which parent is best
- `searching`, `joining`, `tree_peer`: how a peer searches, is taken in, leaves, and what it does
  when others are gone
- `simulation`: what happens in a network of peers that find each other
- `relations`, `hierarchy`: the same tree of tens of thousands of peers, without messages
- `near_settings`, `near_messages`, `looking`, `near_peer`: peers that choose the nearest ones,
  as a protocol
- `scenario`, `outcome`, `picture`: such a network from a file, in figures, and drawn

And what can be known of documents beforehand:

- `opposition`: which children of an element cannot occur together, by a DTD
- `guide`: what may stand below an element, by a DTD and a synopsis (`documents.synopsis`)
- `expansion`: what documents may look like that match a pattern
- `similarity`: how probable it is that a document which matches one pattern matches another
"""
