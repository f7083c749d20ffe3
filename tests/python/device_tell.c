// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reports of the device of device.cpp to PyTorch's profiler, in a separate library: without it only
 * PyTorch's own libraries call c10's reports, as with a device that never reports. */
#include <stddef.h>
#include <stdint.h>

void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *, int64_t, size_t, size_t,
							   unsigned);
void _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(int64_t, size_t, size_t, unsigned);

void tell(void *p, int64_t n, size_t allocated, size_t reserved, unsigned device)
{
	_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(p, n, allocated, reserved, device);
}

void tell_oom(int64_t n, size_t allocated, size_t reserved, unsigned device)
{
	_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(n, allocated, reserved, device);
}
