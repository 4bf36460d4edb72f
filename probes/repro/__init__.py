"""What does `edgeprobe repro` do with a customer's complaint?

It reads a request (`reading`), asks it with a key that the operator names or that stands in it (`keys`), of the target that
it goes to (`aimed`), as a run with one case (`asking`), and says what came of it; of a bundle, what came of it since
(`since`).
"""
