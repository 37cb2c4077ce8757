"""The page: what the agent knows and what the model gets to see, in a browser. NiceGUI on the service's own address."""
