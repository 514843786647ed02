"""The algorithm of TEF §4, a module per thing it makes."""
