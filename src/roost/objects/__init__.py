"""Places where data is, as the control plane alone reaches them: folders of its machine and object stores. They are listed, read,
written, and addresses in them signed. Who may do so, and what of it is shown, is decided above (`services/datastores.py`)."""
