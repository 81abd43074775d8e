"""The workspace and what every other object of the SDK needs: configuration files, authentication, secrets, printed forms."""
