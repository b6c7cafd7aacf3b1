"""How does one event meet both, at once?

- `wide_zones`: which entries an event leaves in zones that hardly any event passes over
- `single_kernels`: the compiled part of `single_events`
- `single_events`: one event against a segment
"""
