"""Before the script starts: working copy, inputs, environment, variables, the meeting of several nodes."""
