#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""A Kineto trace with a million spans and a million allocations:  make.py OUT.json [SPANS]

Four threads run ops nested three deep, each innermost one launches a kernel; one allocation a span, freed
some spans later."""
import random
import sys

if len(sys.argv) < 2:
    sys.exit(__doc__)
out, n = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
random.seed(1)
OPS = [f"aten::op_{i}" for i in range(200)]
KERNELS = [f"void kernel_{i}<float, {i % 7}>(float*, int)" for i in range(100)]
spans = allocs = corr = 0
live: list[tuple[int, int]] = []
clock = 1000.0  # each thread has its turn every 64 us
total = 0


def memory(w, tid, t, addr, size):
    global total
    total += size
    w(f'{{"ph":"i","s":"t","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":{tid},"ts":{t:.3f},"args":{{"Device Type":1,'
      f'"Device Id":0,"Addr":{addr},"Bytes":{size},"Total Allocated":{total},"Total Reserved":{80 << 30}}}}},\n')


with open(out, "w") as f:
    w = f.write
    w('{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"Example","totalGlobalMem":85899345920}],"traceEvents":[\n')
    while spans < n:
        k = spans // 5 % 4
        t, tid = clock, 10 + k
        d = random.randint(20, 60)
        for depth, name in enumerate(random.choices(OPS, k=3)):
            w(f'{{"ph":"X","cat":"cpu_op","name":"{name}","pid":1,"tid":{tid},"ts":{t + depth:.3f},"dur":{d - 2 * depth}}},\n')
        corr += 1
        w(f'{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":{tid},"ts":{t + 4:.3f},"dur":5,'
          f'"args":{{"correlation":{corr}}}}},\n')
        w(f'{{"ph":"X","cat":"kernel","name":"{random.choice(KERNELS)}","pid":0,"tid":{7 + k},"ts":{t + 12:.3f},"dur":{d - 8},'
          f'"args":{{"correlation":{corr},"device":0,"stream":{7 + k}}}}},\n')
        spans += 5
        for i in range(5):
            allocs += 1
            size = 512 << random.randint(0, 12)
            live.append((allocs * 4194304, size))
            memory(w, tid, t + 5 + i * 0.1, *live[-1])
            if len(live) > 3000 + 2000 * (spans // 50000 % 2):
                for _ in range(2):
                    addr, size = live.pop(random.randrange(len(live)))
                    memory(w, tid, t + 5.05 + i * 0.1, addr, -size)
        clock += 16
    w('{"ph":"M","name":"process_name","pid":1,"args":{"name":"example"}}]}\n')
