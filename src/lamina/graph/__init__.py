"""Who and what is related to what: triples with time and source, taken from texts or added by hand."""
