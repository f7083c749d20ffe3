// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "runtime/clock.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/descriptor.h"

uint32_t tide__clock_kind = TIDE_CLOCK_NS;

#if defined(__x86_64__)
/* Returns true if the kernel does not use the CPU's counter, because it found that the counters of
 * its cores differ. */
static bool kernel_distrusts(void)
{
	char name[32] = "";
	int fd = tide__fd_open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
			       O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	ssize_t n = tide__fd_read(fd, name, sizeof name - 1);
	tide__fd_close(fd);
	return n > 0 && (!strncmp(name, "hpet", 4) || !strncmp(name, "acpi_pm", 7) ||
			 !strncmp(name, "jiffies", 7));
}

static bool invariant(void)
{
	unsigned a, b, c, d;
	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}
#endif

void tide__clock_init(void)
{
	const char *want = getenv("TIDEMARK_CLOCK");
	tide__clock_kind = TIDE_CLOCK_NS;
	if (want && !strcmp(want, "ns"))
		return;
#if defined(__x86_64__)
	if ((want && !strcmp(want, "tsc")) || (invariant() && !kernel_distrusts()))
		tide__clock_kind = TIDE_CLOCK_TSC;
#elif defined(__aarch64__)
	tide__clock_kind = TIDE_CLOCK_CNTVCT;
#endif
}

tide_triple tide__clock_read_triple(void)
{
	tide_triple best = { 0 };
	uint64_t width = UINT64_MAX;
	for (int i = 0; i < 8; i++) {
		uint64_t a = tide__ticks();
		uint64_t mono = tide__clock_ns(CLOCK_MONOTONIC_RAW);
		uint64_t real = tide__clock_ns(CLOCK_REALTIME);
		uint64_t b = tide__ticks();
		if (b - a >= width)
			continue;
		width = b - a;
		best = (tide_triple){ a + width / 2, (int64_t)mono, (int64_t)real };
	}
	return best;
}
