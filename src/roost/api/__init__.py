"""The front desk: HTTP in, one service call, its value out. `app.py` puts it together; one router per noun.

`doors.py` says who may enter which route, `guard.py` who may speak to the server at all, `bodies.py` and `answers.py` hold
the wire's spelling, `waiting.py` the long polls.
"""
