"""The HTTP API: each route makes one service call and returns its value. `app.py` puts it together; one router per noun.

`doors.py` checks the caller of each route, `guard.py` every request before that; `bodies.py` and `answers.py` read and write the
wire format, `waiting.py` has the long polls.
"""
