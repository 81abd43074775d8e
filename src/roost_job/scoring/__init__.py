"""Scoring: a model that answers requests, in its own environment. `python -m roost_job.scoring` is a worker; start at `__main__`.

frames     what front and worker send each other over a Unix socket
messages   a request as a handler sees it, and what becomes of what the handler gives back
handlers/  who loads the model and answers: the entry script, or a handler for models with no code of their own
rawhttp    `@rawhttp`, AMLRequest and AMLResponse, as entry scripts import them
schemas    what `inference-schema` decorators say about input and output, as OpenAPI
worker     takes requests from the socket, one at a time or several, and answers

Python 3.6 and later, standard library only; a handler may import the framework of its model.
"""
