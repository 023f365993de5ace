"""The command line: its parser, folded text, progress bars, shell completion."""
