"""The two seats of the forest where someone judges: which candidates are evidence (TEF §4.2), and
which earlier message each hangs from (TEF §4.3). Rules sit there by default, a chat model if given.
"""
