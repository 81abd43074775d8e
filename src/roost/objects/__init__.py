"""Storage that only the control plane reaches directly: folders of its machine and object stores. Lists, reads and writes files,
and signs addresses. `services/datastores.py` decides about permissions and what is shown."""
