#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures other libraries on the cases of `smelt bench`, beside Smelt itself.

Peers are what can be imported of numexpr, numba, torch (torch.compile) and jax.
The peers of a case are measured in turn in this process, in an order that rotates;
`smelt bench`, which needs a process of its own, runs before each of several blocks
of rounds. numexpr, numba and torch_out write into an array made before, jax and
torch make a new one each time. Results are compared with NumPy's. Prints one JSON
object a line and, with --table, a table of all.

The arithmetic is that of `smelt bench`; only its scalars repeat after sixteen,
because numexpr takes no more than 31 operands.
"""
import argparse
import gc
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import time

BLOCKS = 3
WARM_UP_ROUNDS = 2

# --- Cases: the inputs, and what is computed from them in a namespace of functions ---------

CHAIN = [1e-4 * k if k % 2 else 1 + 1e-4 * k for k in range(16)]
MIXED = [(0.75, 0.25, 1.0, -0.5)[k % 4] + 1e-3 * (k // 4) for k in range(16)]


def expr(f, a, b, c):
    return f.exp(a * b + c)


def add(f, a, b):
    return a + b


def gelu(f, x):
    number = f.number
    inner = (x + x * number(0.044715) * (x * x)) * number(0.7978845608)
    return x * number(0.5) * (f.tanh(inner) + number(1.0))


def chain64(f, x):
    for k in range(0, 64, 2):
        x = x * f.number(CHAIN[k % 16])
        x = x + f.number(CHAIN[(k + 1) % 16])
    return x


def mixed65(f, x):
    for k in range(0, 32, 4):
        mul, plus, minus, low = (f.number(MIXED[(k + i) % 16]) for i in range(4))
        x = f.maximum(f.exp(x * mul + plus) - minus, low)
        x = f.sqrt(f.tanh(f.abs(x)))
    return x * f.number(MIXED[0])


def softmax(f, x):
    e = f.exp(x - f.row_max(x))
    return e / f.row_sum(e)


def layernorm(f, x, g, b):
    y = x - f.row_mean(x)
    return y * (f.number(1.0) / f.sqrt(f.row_mean(y * y) + f.number(1e-5))) * g + b


def rmsnorm(f, x, g):
    return x * (f.number(1.0) / f.sqrt(f.row_mean(x * x) + f.number(1e-5))) * g


CASES = {"expr": (expr, 3), "add": (add, 2), "gelu": (gelu, 1), "chain64": (chain64, 1), "mixed65": (mixed65, 1),
         "softmax": (softmax, 1), "layernorm": (layernorm, 1), "rmsnorm": (rmsnorm, 1)}
# Inputs behind these: weights, an element for each column.
WEIGHTS = {"layernorm": 2, "rmsnorm": 1}

# What numba is given for rows: loops, as its users write them.
ROWS = {
    "softmax": """
    largest = x[0]
    for v in x: largest = max(largest, v)
    total = zero
    for j in range(n):
      y[j] = exp(x[j] - largest)
      total += y[j]
    for j in range(n): y[j] /= total""",
    "layernorm": """
    total = zero
    for v in x: total += v
    mean = total / width
    total = zero
    for v in x: total += (v - mean) * (v - mean)
    scale = one / sqrt(total / width + small)
    for j in range(n): y[j] = (x[j] - mean) * scale * g[j] + b[j]""",
    "rmsnorm": """
    total = zero
    for v in x: total += v * v
    scale = one / sqrt(total / width + small)
    for j in range(n): y[j] = x[j] * scale * g[j]""",
}


class Module:
    """The functions of a library whose arrays have operators."""

    def __init__(self, library, maximum, row_max, keep):
        self.exp, self.tanh, self.sqrt, self.abs = library.exp, library.tanh, library.sqrt, library.abs
        self.maximum = maximum
        self.row_max = lambda x: row_max(x, -1, **keep)
        self.row_sum = lambda x: library.sum(x, -1, **keep)
        self.row_mean = lambda x: library.mean(x, -1, **keep)

    def number(self, value):
        return value


class Text:
    """An expression as text."""

    def __init__(self, text):
        self.text = text

    def __add__(self, other):
        return Text(f"({self.text} + {other.text})")

    def __sub__(self, other):
        return Text(f"({self.text} - {other.text})")

    def __mul__(self, other):
        return Text(f"({self.text} * {other.text})")


class Writer:
    """The functions of a language that is given as text. Numbers become names, so that
    they can be f32."""

    def __init__(self, maximum):
        self.numbers = {}
        self.maximum = lambda x, y: Text(maximum.format(x.text, y.text))
        for name in ("exp", "tanh", "sqrt", "abs"):
            setattr(self, name, lambda x, name=name: Text(f"{name}({x.text})"))

    def number(self, value):
        return Text(self.numbers.setdefault(value, f"number{len(self.numbers)}"))

    def scalars(self, make):
        return {name: make(value) for value, name in self.numbers.items()}


# --- Peers: each makes a function without arguments that computes a case --------------------


def use_numexpr(case, arrays, threads):
    import numexpr
    import numpy

    numexpr.set_num_threads(threads)
    writer = Writer("where({0} > {1}, {0}, {1})")
    names = [f"in{k}" for k in range(len(arrays))]
    text = CASES[case][0](writer, *map(Text, names)).text
    operands = dict(zip(names, arrays)) | writer.scalars(numpy.float32)
    out = numpy.empty_like(arrays[0])
    return lambda: numexpr.evaluate(text, operands, {}, out=out)


def numba_rows(case, arrays):
    """Sums in any order, which numba's compiler needs to use vectors."""
    import math

    import numba
    import numpy

    names = {"zero": 0.0, "one": 1.0, "small": 1e-5, "width": arrays[0].shape[1]}
    scope = {"numba": numba, "exp": math.exp, "sqrt": math.sqrt} | {k: numpy.float32(v) for k, v in names.items()}
    operands = ", ".join(["a", "out", *"gb"[: WEIGHTS.get(case, 0)]])
    exec(f"def run({operands}):\n  n = a.shape[1]\n  for i in numba.prange(a.shape[0]):\n    x, y = a[i], out[i]{ROWS[case]}\n",
         scope)
    compiled = numba.njit(parallel=True, error_model="numpy", fastmath=True)(scope["run"])
    out = numpy.empty_like(arrays[0])

    def run():
        compiled(arrays[0], out, *arrays[1:])
        return out

    return run


def use_numba(case, arrays, threads):
    import math

    import numba
    import numpy

    numba.set_num_threads(threads)
    if case in ROWS:
        return numba_rows(case, arrays)
    writer = Writer("max({}, {})")
    names = [f"in{k}" for k in range(len(arrays))]
    text = CASES[case][0](writer, *(Text(f"{name}[i]") for name in names)).text
    source = f"def run(out, {', '.join(names)}):\n  for i in numba.prange(out.size):\n    out[i] = {text}\n"
    scope = {"numba": numba, "exp": math.exp, "tanh": math.tanh, "sqrt": math.sqrt}
    scope |= writer.scalars(numpy.float32)
    exec(source, scope)
    compiled = numba.njit(parallel=True, error_model="numpy")(scope["run"])
    out = numpy.empty_like(arrays[0])
    flat = [array.reshape(-1) for array in (out, *arrays)]

    def run():
        compiled(*flat)
        return out

    return run


def open_torch(arrays, threads):
    import torch

    torch.set_num_threads(threads)
    return torch, Module(torch, torch.clamp_min, torch.amax, {"keepdim": True}), [torch.from_numpy(array) for array in arrays]


def use_torch(case, arrays, threads):
    torch, functions, inputs = open_torch(arrays, threads)
    compiled = torch.compile(lambda *inputs: CASES[case][0](functions, *inputs))

    def run():
        with torch.inference_mode():
            return compiled(*inputs).numpy()

    return run


def use_torch_out(case, arrays, threads):
    torch, functions, inputs = open_torch(arrays, threads)
    compiled = torch.compile(lambda out, *inputs: out.copy_(CASES[case][0](functions, *inputs)))
    out = torch.empty_like(inputs[0])

    def run():
        with torch.inference_mode():
            compiled(out, *inputs)
        return out.numpy()

    return run


def use_jax(case, arrays, threads):
    import jax
    import numpy

    if threads != len(os.sched_getaffinity(0)):
        raise RuntimeError("its number of threads cannot be chosen")
    jax.config.update("jax_platforms", "cpu")
    inputs = [jax.numpy.asarray(array) for array in arrays]
    functions = Module(jax.numpy, jax.numpy.maximum, jax.numpy.max, {"keepdims": True})
    compiled = jax.jit(lambda *inputs: CASES[case][0](functions, *inputs))
    return lambda: numpy.asarray(compiled(*inputs).block_until_ready())


PEERS = {"numexpr": use_numexpr, "numba": use_numba, "torch": use_torch, "torch_out": use_torch_out, "jax": use_jax}


# --- Measuring -------------------------------------------------------------------------------


def now_us():
    return time.perf_counter_ns() / 1e3


def complain(text):
    print(f"peers.py: {text}", file=sys.stderr)


def settle():
    """Threads that look out for more work are asleep after this."""
    time.sleep(0.005)


def make_inputs(case, shape):
    import numpy

    random = numpy.random.default_rng(0)
    shapes = [shape] * CASES[case][1] + [shape[-1:]] * WEIGHTS.get(case, 0)
    return [random.random(shape, dtype=numpy.float32) - numpy.float32(0.5) for shape in shapes]


def expected_result(case, arrays):
    import numpy

    return CASES[case][0](Module(numpy, numpy.maximum, numpy.max, {"keepdims": True}), *arrays)


def open_peer(name, case, arrays, threads, expected):
    """The function to measure and what its first run takes, None if there is none."""
    import numpy

    try:
        start = now_us()
        run = PEERS[name](case, arrays, threads)
        result = run()
        cold_ms = (now_us() - start) / 1e3
    except ImportError:
        return None
    except Exception as error:  # whatever a library throws: the others go on
        complain(f"{name} cannot do {case}: {type(error).__name__}: {str(error).splitlines()[:1]}")
        return None
    if not numpy.allclose(result, expected, rtol=1e-4, atol=1e-5):
        complain(f"{name} computes {case} wrongly")
        return None
    return run, cold_ms


def run_smelt(options, case, rounds):
    command = [options.smelt, "bench", case, "--json", f"--threads={options.threads}", f"--rounds={rounds}"]
    command.append("--shape=" + ",".join(map(str, options.shape)))
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def run_round(runs, turn, times):
    names = list(runs)
    for k in range(len(names)):
        name = names[(turn + k) % len(names)]
        settle()
        start = now_us()
        runs[name]()
        times[name].append(now_us() - start)


def percentile(times, share):
    return sorted(times)[int(len(times) * share)]


def summary(case, peer, options, times, cold_ms):
    version = importlib.metadata.version(peer.split("_")[0])
    return {"case": case, "peer": peer, "version": version, "dtype": "f32", "shape": options.shape,
            "threads": options.threads, "rounds": len(times), "us": round(statistics.median(times), 3),
            "p10": round(percentile(times, 0.1), 3), "p90": round(percentile(times, 0.9), 3),
            "cold_ms": round(cold_ms, 3)}


def smelt_summary(blocks):
    """The median of each figure over the blocks."""
    middle = dict(blocks[-1], peer="smelt")
    for name in ("us", "p10", "p90", "floor_us", "ratio", "cold_ms", "unfused_us", "speedup"):
        middle[name] = statistics.median(block[name] for block in blocks)
    middle["rounds"] = sum(block["rounds"] for block in blocks)
    return middle


def measure_case(case, options):
    arrays = make_inputs(case, options.shape)
    expected = expected_result(case, arrays)
    opened = {name: open_peer(name, case, arrays, options.threads, expected) for name in PEERS}
    opened = {name: peer for name, peer in opened.items() if peer}
    runs = {name: run for name, (run, _) in opened.items()}
    times, blocks = {name: [] for name in runs}, []
    rounds = -(-options.rounds // BLOCKS)
    for block in range(BLOCKS):
        if options.smelt:
            settle()
            blocks.append(run_smelt(options, case, rounds))
        for turn in range(WARM_UP_ROUNDS):
            run_round(runs, turn, {name: [] for name in runs})
        for turn in range(rounds):
            run_round(runs, turn, times)
    lines = [smelt_summary(blocks)] if blocks else []
    return lines + [summary(case, name, options, times[name], opened[name][1]) for name in runs]


# --- Output --------------------------------------------------------------------------------------


def print_table(lines):
    peers = ["smelt", *PEERS]
    print(f"\n{'case':10}" + "".join(f"{peer:>12}" for peer in peers) + "   best peer / smelt")
    for case in CASES:
        us = {line["peer"]: line["us"] for line in lines if line["case"] == case}
        if not us:
            continue
        row = "".join(f"{us[peer] / 1e3:9.2f} ms" if peer in us else f"{'-':>12}" for peer in peers)
        others = [time for peer, time in us.items() if peer != "smelt"]
        best = f"{min(others) / us['smelt']:.2f}" if others and "smelt" in us else "-"
        print(f"{case:10}{row}{best:>20}")
    print("\nMedians; above 1, Smelt is faster than the best of the others.")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--smelt", help="path of the command smelt")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--shape", type=lambda text: [int(n) for n in text.split(",")], default=[4096, 4096])
    parser.add_argument("--table", action="store_true", help="a table after the lines")
    options = parser.parse_args()
    for case in options.cases:
        if case not in CASES:
            parser.error(f"no case {case!r}")
    return options


def main():
    options = parse_arguments()
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before any library starts threads
    gc.disable()
    lines = []
    for case in options.cases or CASES:
        for line in measure_case(case, options):
            lines.append(line)
            print(json.dumps(line), flush=True)
    if options.table:
        print_table(lines)


if __name__ == "__main__":
    main()
