"""Scoring: a model that answers requests, in its own environment. `python -m roost_job.scoring` is a worker; start at `__main__`.

frames     the messages between front and worker over a Unix socket
messages   a request as a handler sees it, and the conversion of its result to an answer
handlers/  the code that loads the model and answers: the entry script, or a handler for models without code
rawhttp    `@rawhttp`, AMLRequest and AMLResponse, as entry scripts import them
schemas    input and output from `inference-schema` decorators, as OpenAPI
worker     takes requests from the socket, one at a time or several, and answers

Python 3.6 and later, standard library only; a handler may import the framework of its model.
"""
