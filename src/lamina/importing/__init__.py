"""Takes over what other memories and chats hold: one file for each of them, one way into the store."""
