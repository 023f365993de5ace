"""Scalars of any formula times long weights: the scheme, its launch, and groups that another launch left undone."""
