"""Conversations: sessions, their messages, the archive, and finding every word again."""
