"""The HTTP API: one file a resource. A route reads the request, makes a Visitor, calls a verb and writes the answer."""
