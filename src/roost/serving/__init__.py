"""The front of an endpoint: a process that receives HTTP requests and passes them to workers (`roost_job.scoring`) over Unix
sockets.

`python -m roost.serving FOLDER` runs one; it needs no control plane. Start at `__main__`; `front.py` connects the parts.

configuration   front.json: the front's settings, written by the control plane
keys            keys by their hash, signed tokens
asking          requests to the control socket: reload, status, wait, stop
records         requests of a service with their answers, for later analysis

The rest is internal to the front: http (a connection of a client), routes, queues (the waiting requests of a version), workers (a
connection to a worker), control (the front's end of the control socket), metrics, logs.
"""
