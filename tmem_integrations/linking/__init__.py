"""A linker without a model: which earlier message a message belongs under, and what it does to it.

cues, values → reading → features → listing → models → links. Two small tables of coefficients
(`coefficients.json`), fitted by `tmem_integrations.evaluation.linker.fit`, and rules of form: no
embedding, no network.
"""
