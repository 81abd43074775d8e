"""After the script: stores outputs and logs, explains the end and reports it."""
