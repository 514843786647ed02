"""Where messages live: Chroma with indices in memory, or Milvus."""
