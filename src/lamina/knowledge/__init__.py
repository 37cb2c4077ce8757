"""Knowledge: versioned entries, external references, and the audit log."""
