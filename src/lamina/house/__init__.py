"""An open store: its parts, its rooms joined over them, and one tenant's view of them."""
