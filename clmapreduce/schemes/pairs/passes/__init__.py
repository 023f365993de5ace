"""Plans of several plans over pairs."""
