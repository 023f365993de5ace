"""What the command line is made of: its parser, folded text, progress bars, shell completion."""
