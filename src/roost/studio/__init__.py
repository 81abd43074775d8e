"""The studio: pages for a browser. `pages.py` serves the files of `files/`, which are the same for everybody; whatever is
somebody's the page's own scripts ask of the API, with the session's cookie, as any other client would.
"""
