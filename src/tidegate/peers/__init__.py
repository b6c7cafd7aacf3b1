"""Can the subscribers do it alone?

Chand, "Large scale diffusion of information in Publish/Subscribe systems" (2005), chapters 7 and 8:
subscribers form an overlay of their own, in which neighbours want much the same, and pass events on
without routing tables.

- `history`: how often events that one filter matches match another one, too
- `proximity`: how near two filters are, by that
- `neighbourhood`: who should be next to whom, by that
- `messages`: what peers say to each other
- `peer`: what a peer does about an event
- `network`: what happens in a whole network of peers

And what can be known of documents beforehand:

- `opposition`: which children of an element cannot occur together, by a DTD
- `synopsis`: how many documents had which paths
"""
