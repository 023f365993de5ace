#!/usr/bin/env bash
# The distributions, before a release: built twice and compared, checked, and installed in clean environments, where the
# demo and the doctor run. Interpreters: those named, else python3.10 to python3.14 as far as they are here.
#   packaging/check.sh [python3.10 python3.13 …]
# DRIVER is the extra that brings a device (cpu, or intel for processors that PoCL's compiler does not know).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

driver=${DRIVER:-cpu}
pythons=("$@")
if [ ${#pythons[@]} -eq 0 ]; then
  for minor in 10 11 12 13 14; do
    if command -v "python3.$minor" >/dev/null; then pythons+=("python3.$minor"); fi
  done
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

quiet=(--quiet --disable-pip-version-check)
"${pythons[0]}" -m venv "$work/tools"
"$work/tools/bin/python" -m pip install "${quiet[@]}" build twine
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 1577836800)
export SOURCE_DATE_EPOCH
for round in 1 2; do "$work/tools/bin/python" -m build --outdir "$work/$round" . >/dev/null; done
for file in "$work"/1/*; do cmp "$file" "$work/2/$(basename "$file")"; done
echo "built twice, byte for byte the same: $(cd "$work/1" && echo *)"
"$work/tools/bin/twine" check --strict "$work"/1/*

# try NAME PYTHON DISTRIBUTION [pip options …]: a clean environment, all three packages, demo and doctor, outside of the checkout.
number=0
try() {
  number=$((number + 1))
  local name=$1 python=$2 distribution=$3 environment="$work/environment-$number"
  shift 3
  "$python" -m venv "$environment"
  "$environment/bin/python" -m pip install "${quiet[@]}" "$@" "clmapreduce[$driver,plot] @ file://$distribution"
  (
    cd "$environment"
    ./bin/python -c "import cl_templates, clmapreduce, hostsched; print('$name:', clmapreduce.__version__, clmapreduce.__file__)"
    for command in demo doctor; do ./bin/clmapreduce $command >output.txt || { cat output.txt; exit 1; }; done
    echo "  the demo and the doctor's checks ended well"
  )
}

wheel=$(echo "$work"/1/*.whl)
sdist=$(echo "$work"/1/*.tar.gz)
for python in "${pythons[@]}"; do try "newest, $(basename "$python")" "$python" "$wheel"; done
try "oldest versions, $(basename "${pythons[0]}")" "${pythons[0]}" "$wheel" --constraint packaging/minimum.txt
try "sdist, $(basename "${pythons[-1]}")" "${pythons[-1]}" "$sdist"
