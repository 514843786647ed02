"""Ask a long group chat what is true now: temporal evidence forests for LangChain and LlamaIndex."""
