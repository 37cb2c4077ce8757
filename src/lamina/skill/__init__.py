"""Skills: composites, scripts and templates that an agent keeps, after somebody approved them."""
