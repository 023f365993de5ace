"""The work of Dask's tasks on a worker."""
