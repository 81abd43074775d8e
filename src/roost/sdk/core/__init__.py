"""The workspace and the shared parts of the SDK: configuration files, authentication, secrets, printed forms."""
