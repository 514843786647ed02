"""Between LangChain or LlamaIndex and this package: embedders, language models, documents.

Nothing is imported here, so that asking for the offline embedder does not load a framework.
"""
