"""The primitives: Map, Reduce, Unfold, Scan, Partials, Recurrence."""

from clmapreduce.primitives import compose as _compose  # noqa: F401  # defines what >> gives
from clmapreduce.primitives import places as _places  # noqa: F401  # defines what checks places in tables
from clmapreduce.primitives.map import Map
from clmapreduce.primitives.partials import KeptPartials, Partials
from clmapreduce.primitives.pipeline import Pipeline, fuse
from clmapreduce.primitives.recurrences.recurrence import Recurrence
from clmapreduce.primitives.reduce import Reduce
from clmapreduce.primitives.scan import Scan
from clmapreduce.primitives.unfold import Unfold

__all__ = ["KeptPartials", "Map", "Partials", "Pipeline", "Recurrence", "Reduce", "Scan", "Unfold", "fuse"]
