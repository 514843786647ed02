"""What stands between a model and the rest: its replies, its budget, its tokens, its vectors."""
