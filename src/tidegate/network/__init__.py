"""How does it run live?

The brokers of `overlay` as processes of a machine. From the bottom up:

- `files`: files that are safe
- `frame`: records in a file, each with its number and its checksums
- `snapshot`: a broker's state in a file, replaced as a whole or not at all
- `journal`: records in an append-only file in segments, and which of them are whole
- `disk`: what a broker has written down, in a folder: a `Storage`
- `frames`: what travels on a connection; `opening`: the first frame each way
- `payloads`: events as bytes; `payload_kernels`: where in them attributes stand;
  `packed_events`: events that are still bytes
- `event_frames`: many of them in a frame; `frame_kernels`: such frames as bytes
- `control_frames`: messages that are no events
- `credits`: how many events may come; `gap`: how many were missed; `outbox`: what has to wait
- `limits`: how much may be asked of a broker; `address`: where it is
- `metrics`: how a broker fares, as text that Prometheus reads
- `gathering`: events that wait to be handled together
- `tls`: who is at the other end, and who else can read it; `rights`: what a client may do;
  `web_tokens`: tokens that somebody else has signed; `guard`: who is let in, and as whom
- `pressure`: who has to wait when somebody does not keep up
- `kept`: events with numbers on a link, that are sent until they are acknowledged
- `driver`: frames become inputs of a broker, and its effects frames, without sockets
- `connection`: one connection; `door`: where they come in; `server`: a broker with its connections
- `warming`: compile what will be needed; `process`: a broker's life, and the file that describes it
- `dialing`: how a connection to a broker is made; `status`: how it says that it fares
- `notification`: what a subscriber gets; `unconfirmed`: events that were published; `client`,
  `sync_client`: who gets them, and publishes
"""
