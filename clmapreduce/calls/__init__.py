"""What first and repeated calls of every front end share: arguments, options, results."""
