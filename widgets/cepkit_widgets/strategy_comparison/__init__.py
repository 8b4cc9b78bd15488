"""The four strategies side by side: what each takes of one stream, and what it leaves."""
