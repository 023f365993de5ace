"""The rules of docs/concepts/architecture.md, as assertions on the text of the packages and of the tests. No device is needed."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = ROOT / "cl_templates"

# Rule 2: a file imports from its own row and the rows above it. A name is a file or a folder of clmapreduce.
ROWS = (
    ("errors", "checks", "host_room", "no_arithmetic", "log", "notebook", "modes", "dtypes", "extended_number",
     "version"),
    ("functions", "formula", "reductions", "halves", "domain", "extended", "math", "ranges"),
    ("program", "vector", "lowering"),
    ("plan", "schemes"),
    ("planning",),
    ("device",),
    ("calls",),
    ("tuning",),
    ("primitives", "series", "pairwise", "segmented", "sorting", "cluster"),
    ("gradients",),
    ("arrays", "dask", "torch", "jax", "sklearn"),
    ("__init__",),
    ("terminal", "demo", "doctor", "bench", "cli", "__main__"),
)
ROW_OF = {name: row for row, names in enumerate(ROWS) for name in names}

# Rule 3: beside the folder `device`, the only files of clmapreduce that see the two packages below it.
DOORS = {"calls/call.py", "calls/progress.py"}

# Rule 9: the same for hostsched, one folder or file of it a row.
HOST_ROWS = ("errors", "settings", "driver", "device", "memory", "kernels", "queue", "compiler", "jobs", "__init__")


def python_files(package: str) -> list[Path]:
    """Every source file of a package; a missing or empty package is a failure, not an empty loop."""
    files = sorted((ROOT / package).rglob("*.py"))
    assert files, f"{package}/ holds no Python file"
    return files


def imported_modules(path: Path) -> set[str]:
    """Full dotted names of everything a file imports, at top level or inside a function.

    `from a import b` counts as `a.b`: b may be a module of a, and its row decides.
    """
    parts = path.relative_to(ROOT).with_suffix("").parts
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = [] if node.level == 0 else list(parts[: len(parts) - node.level])
            base += (node.module or "").split(".") if node.module else []
            names.update(".".join([*base, alias.name]) for alias in node.names)
    return names


def top_level_imports(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imported_modules(path)}


def own_row(path: Path) -> str:
    """The name in ROWS of a file of clmapreduce: its folder directly under the package, or its stem."""
    return path.relative_to(ROOT / "clmapreduce").with_suffix("").parts[0]


def target_row(module: str) -> str | None:
    """The name in ROWS that an import reaches; None where it leaves clmapreduce."""
    parts = module.split(".")
    if parts[0] != "clmapreduce":
        return None
    return parts[1] if len(parts) > 1 and parts[1] in ROW_OF else "__init__"


@pytest.mark.parametrize(
    ("package", "tools"),
    [("cl_templates", {"mako"}), ("hostsched", {"pyopencl", "numpy", "psutil", "platformdirs"})],
)
def test_rule_1_lower_packages_import_only_their_tools(package: str, tools: set[str]) -> None:
    for path in python_files(package):
        outside = top_level_imports(path) - set(sys.stdlib_module_names) - tools - {package}
        assert not outside, f"{path.relative_to(ROOT)} imports {sorted(outside)}"


def test_rule_2_every_file_has_a_row_and_every_row_its_files() -> None:
    names = {own_row(path) for path in python_files("clmapreduce")}
    assert names == set(ROW_OF), f"without a row: {names - set(ROW_OF)}; missing: {set(ROW_OF) - names}"


def test_rule_2_imports_point_to_rows_above() -> None:
    for path in python_files("clmapreduce"):
        row = ROW_OF[own_row(path)]
        for module in imported_modules(path):
            target = target_row(module)
            assert target is None or ROW_OF[target] <= row, f"{path.relative_to(ROOT)} imports {module}, a row below it"


def test_rule_3_only_the_doors_see_the_packages_below() -> None:
    for path in python_files("clmapreduce"):
        below = top_level_imports(path) & {"hostsched", "cl_templates"}
        own = path.relative_to(ROOT / "clmapreduce").as_posix()
        assert not below or own_row(path) == "device" or own in DOORS, f"{own} imports {sorted(below)}"


def templates() -> dict[str, str]:
    """Name, as schemes write it ("kernel/line/reduce") → text."""
    result = {
        path.relative_to(TEMPLATES).as_posix().removesuffix(".cl.mako"): path.read_text(encoding="utf-8")
        for path in sorted(TEMPLATES.rglob("*.mako"))
    }
    assert result, "cl_templates/ holds no template"
    return result


def without_comments(text: str) -> str:
    """Template text less Mako's and C's comments."""
    text = re.sub(r"<%doc>.*?</%doc>", "", text, flags=re.S)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"^\s*##.*$|//.*$", "", text, flags=re.M)


def defs(name: str) -> set[str]:
    """The names a template defines for others; a leading underscore keeps a helper private."""
    text = templates().get(name)
    assert text is not None, f"cl_templates/{name}.cl.mako is missing"
    names = set(re.findall(r"<%def\s+name=\"([^\W_]\w*)\(", text))
    assert names, f"cl_templates/{name}.cl.mako defines nothing"
    return names


def test_rule_4_asm_stands_in_the_nvidia_template_only() -> None:
    users = {name for name, text in templates().items() if re.search(r"\basm\b", without_comments(text))}
    assert all(name.startswith("vendor/nvidia") for name in users), users


def test_rule_4_subgroups_stand_in_their_vocabulary_only() -> None:
    users = {name for name, text in templates().items() if re.search(r"(?<!get_)\bsub_group_|\bintel_", without_comments(text))}
    assert users == {"vendor/subgroups"}


COMPILERS_WORDS = re.compile(
    r"\b__(builtin|has_|typeof|auto_type|extension|asm|GNUC|clang)\w*|\btypeof\b|\bvector_size\b|\bext_vector_type\b"
    r"|#\s*include\b|\(\{(?=\s)"
)
OPENCL_ATTRIBUTES = {"aligned", "packed", "endian", "vec_type_hint", "work_group_size_hint", "reqd_work_group_size"}
COMPILERS = (
    "vendor/clang", "vendor/nvidia", "vendor/nvidia/functions", "vendor/nvidia/matrices", "vendor/intel", "vendor/pocl",
    "vendor/wide",
)  # fmt: skip


def foreign_words(text: str) -> set[str]:
    """What a template says that OpenCL C 1.2 does not know: compilers' words, and attributes of other languages."""
    text = re.sub(r"\$\{.*?\}|<%.*?%>", "", without_comments(text), flags=re.S)
    attributes = set(re.findall(r"__attribute__\s*\(\(\s*(\w+)", text)) - OPENCL_ATTRIBUTES
    return attributes | {match[0] for match in COMPILERS_WORDS.finditer(text)}


def test_rule_4_compilers_words_stand_in_their_vocabularies_only() -> None:
    """One `__builtin_prefetch` ended Mesa's compiler, and the process with it."""
    texts = templates()
    assert {"__builtin_shufflevector", "always_inline"} <= foreign_words(texts["vendor/clang"])
    assert foreign_words("x = ({ 1; }); __typeof__(x) y;") == {"({", "__typeof__"}
    assert foreign_words("int x __attribute__((aligned(16))); __attribute__((unused)) int y;") == {"unused"}
    for name in set(texts) - set(COMPILERS):
        assert not foreign_words(texts[name]), f"{name} says {foreign_words(texts[name])}"


def test_rule_4_vendor_definitions_are_a_subset_of_portables() -> None:
    portable = set().union(*(defs(name) for name in templates() if name.startswith("vendor/portable/")))
    vendors = [name for name in templates() if name.startswith("vendor/") and "portable" not in name]
    assert "vendor/nvidia" in vendors
    for name in vendors:
        assert defs(name) <= portable, f"{name} adds {defs(name) - portable}"


def test_rule_4_both_modes_define_the_same_names() -> None:
    assert defs("mode/seq") == defs("mode/par")


def files_with(pattern: str) -> set[str]:
    """The files of the three packages in which a pattern occurs."""
    return {
        path.relative_to(ROOT).as_posix()
        for package in ("clmapreduce", "cl_templates", "hostsched")
        for path in python_files(package)
        if re.search(pattern, path.read_text(encoding="utf-8"))
    }


def test_rule_5_one_file_enqueues() -> None:
    assert files_with(r"\b(cl|pyopencl)\.enqueue_|import\s+enqueue_") == {"hostsched/driver/opencl.py"}
    assert files_with(r"opencl\.(enqueue_kernel|copy|fill|map_buffer|unmap|marker)\b") == {"hostsched/queue/commands.py"}


def test_rule_5_one_file_talks_to_drivers() -> None:
    """Elsewhere in hostsched pyopencl gives types, constants and, with SVM, a name for memory of the host."""
    methods = {
        "command_execution_status", "get_info", "get_build_info", "get_work_group_info", "get_profiling_info",
        "get_devices", "release", "_build", "_set_arg_multi", "_set_arg_buf_multi",
    }  # fmt: skip
    own = {"opencl", "entries", "self", "lock", "idle", "_in_flight", "idle_queues"}
    for path in python_files("hostsched"):
        if path.name == "opencl.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                place, owner, name = f"{path.name}:{node.lineno}", ast.unparse(node.func.value), node.func.attr
                assert owner != "cl" or name == "SVM", place
                assert name not in methods or owner.rpartition(".")[2] in own, place
            elif isinstance(node, ast.Attribute):
                assert node.attr != "command_execution_status" or ast.unparse(node.value) == "cl", path.name


def test_rule_5_kernel_names_carry_the_prefix() -> None:
    head = re.compile(r"open_kernel\(\s*[\"']([^\"']+)|__kernel\b[^{}]*?\bvoid\s+(\w+)\s*\(")
    for name, text in templates().items():
        kernels = ["".join(match) for match in head.findall(without_comments(text))]
        assert all(kernel.startswith("cmr_") for kernel in kernels), f"{name}: {kernels}"
        assert len(kernels) == name.startswith("kernel/"), f"{name} declares {kernels}; kernel/ files declare one each"


def test_rule_7_makers_of_drivers_are_named_in_two_places() -> None:
    """Planning asks for traits. `device` knows makers, `traits` says what follows, `choice` reads users' words."""
    makers = {"nvidia", "intel", "pocl", "amd", "apple"}
    homes = {f"hostsched/device/{name}.py" for name in ("device", "traits", "choice")}
    places = set()
    for package in ("clmapreduce", "hostsched"):
        for path in python_files(package):
            constants = (n.value for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.Constant))
            if any(isinstance(value, str) and value in makers for value in constants):
                places.add(path.relative_to(ROOT).as_posix())
    assert places == homes


def files_from(start: str, imports: dict[str, set[str]]) -> set[str]:
    """All modules that one imports, directly or through others."""
    seen_files: set[str] = set()
    ahead = [start]
    while ahead:
        for module in imports[ahead.pop()] - seen_files:
            seen_files.add(module)
            ahead.append(module)
    return seen_files


def test_rule_8_no_files_import_each_other() -> None:
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for package in ("clmapreduce", "cl_templates", "hostsched")
        for path in python_files(package)
        if path.name != "__init__.py"
    }
    imports: dict[str, set[str]] = {}
    for name, path in modules.items():
        names = imported_modules(path)
        parts = {module.rpartition(".")[0] for module in names} | names
        imports[name] = (parts & modules.keys()) - {name}
    everything = {name: files_from(name, imports) for name in modules}
    circular = {name for name, others in everything.items() if name in others}
    assert not circular, f"these import each other, imports for types and inside functions counted: {sorted(circular)}"


def test_rule_9_imports_in_hostsched_point_to_rows_above() -> None:
    rows = {name: row for row, name in enumerate(HOST_ROWS)}
    paths = {path: path.relative_to(ROOT / "hostsched").with_suffix("").parts for path in python_files("hostsched")}
    assert {parts[0] for parts in paths.values()} == rows.keys()
    for path, (own, *_) in paths.items():
        for module in imported_modules(path):
            package, *rest = module.split(".")
            if package == "hostsched":
                target = rest[0] if rest and rest[0] in rows else "__init__"
                assert rows[target] <= rows[own], f"{path.relative_to(ROOT)} imports {module}, a row below it"


def named_by_schemes() -> set[str]:
    """The kernel templates that schemes name: "kernel/x" as a string, or x as the first argument of `ChunkKernel`, which
    may also be `x if … else y`, or as a class's `template`.
    """
    names: set[str] = set()
    for path in python_files("clmapreduce/schemes"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Constant(value=str(text)) if re.fullmatch(r"kernel/[\w/]+", text):
                    names.add(text)
                case ast.AnnAssign(target=ast.Name(id="template"), value=ast.Constant(value=str(text))):
                    names.add(f"kernel/{text}")
                case ast.Call(func=ast.Name(id="ChunkKernel"), args=[first, *_]):
                    branches = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
                    names |= {f"kernel/{text.value}" for text in branches if isinstance(text, ast.Constant)}
    return names


def test_rule_6_schemes_and_kernel_templates_name_each_other() -> None:
    names = named_by_schemes()
    kernels = {name for name in templates() if name.startswith("kernel/")}
    assert names, "no scheme names a template"
    assert names == kernels, f"named but missing: {names - kernels}; named by no scheme: {kernels - names}"


LONGEST_TEST_FILE = 400
"""Lines. A longer file checks several ideas: each goes into a file of its own, and what they share into tests/support."""


def test_rule_10_no_test_file_is_long() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in python_files("tests")}
    long = {path.relative_to(ROOT).as_posix(): n for path, n in lengths.items() if n > LONGEST_TEST_FILE}
    assert not long, f"more than {LONGEST_TEST_FILE} lines: {long}"


def test_rule_11_a_thread_may_take_its_lock_twice() -> None:
    """From Python 3.12 on a garbage collection, and what finalizers of a user's objects call, may come between any two
    steps, so also where a lock is held.
    """
    files = [path for package in ("cl_templates", "hostsched", "clmapreduce") for path in python_files(package)]
    files += python_files("tests/support")
    assert [str(path) for path in files if re.search(r"threading\.Lock\(", path.read_text(encoding="utf-8"))] == []
