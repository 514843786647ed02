"""The linker's tables: what they are fitted to (`corpus`, `labelled_chats`), how (`priors`, `fit`), and how
they do on conversations that they have not seen (`validation`, `chains`, `held_out`).

    python -m tmem_integrations.evaluation.linker.fit --help
    python -m tmem_integrations.evaluation.linker.validation --help
"""
