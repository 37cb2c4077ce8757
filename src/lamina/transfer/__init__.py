"""What a room needs to give its records to an export and to take them from an import."""
