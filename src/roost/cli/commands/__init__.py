"""The commands, one file per noun. `roost.cli.command_table` names the function of each, and only the module of the command that
was typed is loaded. A command takes what was typed, calls the SDK, and renders.
"""
