"""How is Spark started?

- `java`: is there a Java that can run it?
- `session`: how Spark is started, and kept quiet
- `cluster`: how a cluster is tried out on one machine
"""
