"""A story over two weeks that fills a store, so that there is something to look at."""
