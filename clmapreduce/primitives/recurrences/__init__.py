"""Recurrences: functions of one argument iterated, maps of a state composed."""
