"""Programs: functions of whole vectors, as formulas and the steps that need more than one element."""
