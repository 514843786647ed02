"""What models are asked: one file per question, with the schema of its answer."""
