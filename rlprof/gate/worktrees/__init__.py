"""The base in a git worktree of its own, importing its own files; nothing of it stays."""
