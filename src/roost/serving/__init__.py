"""The front of an endpoint: a process that takes HTTP requests and hands them to workers (`roost_job.scoring`) over Unix sockets.

`python -m roost.serving FOLDER` runs one; it needs no control plane. Start at `__main__`; `front.py` puts the parts together.

configuration   front.json: what the front should do, written by the control plane
keys            keys by their hash, signed tokens
asking          the control socket, from outside: reload, status, wait, stop
records         what a service was asked and answered, looked at later

The rest is the front's own: http (a connection of a client), routes, queues (who waits for which version), workers (a connection
to a worker), control (the socket's other end), metrics, logs.
"""
