# clmapreduce with PoCL, the CPU device of free software: docker build -t clmapreduce . && docker run --rm clmapreduce
# The distribution's PoCL, not the one of the package index: that one does not know processors newer than itself.
# From PoCL 5.0 on CPUs take the sequential mode alone (docs/concepts/architecture.md, traps); it is their default anyway.
FROM python:3.13-slim-trixie

# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ocl-icd-libopencl1 pocl-opencl-icd \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /src
COPY . .
# hadolint ignore=DL3013
RUN pip install --no-cache-dir '.[plot,progress]' && useradd --create-home --uid 1000 user

USER 1000
WORKDIR /home/user
CMD ["clmapreduce", "demo"]
