"""From a query and a session to the prompt a model should see: layers, budget, safe rendering, receipt."""
