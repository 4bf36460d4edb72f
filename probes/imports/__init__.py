"""Which request does a text hold that a customer sent: a curl line, a HAR file, a raw request, an SDK's call?

Each form has its module, `(text, taken) -> Told`. What is secret in the text is taken out at once, into `Taken`, and no
message quotes a value: only names, options, lines and hosts.
"""
