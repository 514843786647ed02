"""The instrument by which methods are compared: `tmem eval`.

`datasets` reads questions with their gold apart, `methods` search by name, `recall`, `gate`, `relations` and
`parents` measure, `runs` keep every stage on disk, `report` compares them, `recipes` name comparisons, and
`episodes` fits the theory of the density gate. `linker` fits and validates the tables of the linker.
"""
