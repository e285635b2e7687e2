"""Drives unmodified clients against the gateway and checks what both sides saw."""
