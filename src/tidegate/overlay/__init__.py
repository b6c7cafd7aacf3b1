"""Where does an event go next?

Brokers form an acyclic overlay. Each tells its neighbours what the clients behind it want, so that
an event travels only where somebody wants it. From the bottom up:

- `filter`: what a broker has to know about filters, of whatever kind
- `attribute_filter`: filters on attributes, which is what Tidegate's language says
- `conjunction`: exactly what two of them match both
- `attribute_template`: filters on attributes with parameters
- `attribute_events`: how events are written that are attributes with values
- `attribute_index`: which of many filters on attributes match, cover or overlap
- `attribute_columns`: many of one shape, of columns of constants
- `attribute_courses`: how many of them are pruned to their end
- `attribute_pruner`: what can be left out of them, by what was seen of events
- `attributes`: all of this together, as a kind of filters
- `pattern_filter`: tree patterns on documents; `pattern_template`: those with parameters
- `pattern_index`: which of many patterns match, cover or overlap
- `pattern_events`: how events are written that are documents
- `pattern_courses`: how many patterns are pruned to their end
- `pattern_pruner`: what can be left out of them, by what was seen of documents
- `patterns`: all of this together, as a kind
- `several_pruner`: what can be left out of filters of several kinds
- `several`: filters of several kinds in one network
- `kinds`: which kinds there are, by name
- `scan`: an index that asks one filter after the other, for kinds without a better one
- `counts`: how many registrations an entry stands for
- `difference`: how a set of filters has changed
- `work`: what a broker has done, in units that do not depend on the machine
- `policy`: what a broker forwards of all that it was told
- `row_names`: a name for each row of a batch, such as its publisher
- `messages`: what brokers and clients say to each other
- `form`: whether something is formed as a message is
- `encoding`: messages as bytes and back
- `stream`: numbered messages to and from one neighbour, acknowledged and resent
- `link`: what a broker knows of one neighbour or client
- `notes`: what a broker has noticed that nobody writes down
- `asked`: what a message asks for, and whether that can be done
- `table`: which filters came from which link, and which of them match an event
- `registrations`: how much of what clients register is news to a broker
- `routing`: how a change on one link changes what is forwarded to the others
- `events`: which events are taken, and where they go
- `broker`: the state machine that drives all of it
- `ledger`: the filters that a broker knows, written down once each
- `record`: what a broker writes down, as plain data
- `storage`: what a broker still knows after a crash

And at the other end of a broker's link:

- `conversation`: what a client has told its broker, and what that has answered
- `template`: what a client has to know about filters with parameters
- `trail`: which values should be asked for besides that of now
- `variable`: values that move, and the filters that follow them
- `strategy`: how to tell that a subscription has another filter
- `client`: what a client wants, and which events are for it

Nothing here does I/O or has a clock, a thread or randomness of its own.
"""
