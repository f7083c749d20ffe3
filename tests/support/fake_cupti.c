// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Stands in for libcupti where there is no device: the functions that capture/cuda looks up, and
 * fake_* by which a test makes records. For the plumbing only; real devices: tests/gpu/inject.py. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "capture/cuda/cupti_abi.h"

static cupti_request_fn *request;
static cupti_complete_fn *complete;
static uint8_t *buffer;
static size_t size, used, most;
static bool enabled[64];

int cuptiActivityRegisterCallbacks(cupti_request_fn *r, cupti_complete_fn *c);
int cuptiActivityEnable(int kind);
int cuptiActivityEnableRuntimeApi(uint32_t id, uint8_t on);
int cuptiActivityEnableDriverApi(uint32_t id, uint8_t on);
int cuptiActivityFlushAll(uint32_t forced);
int cuptiActivityGetNextRecord(uint8_t *b, size_t valid, void **record);
int cuptiGetCallbackName(int domain, uint32_t id, const char **name);
void fake_kernel(const char *name, uint64_t start, uint64_t end, uint32_t stream,
		 uint32_t correlation);
void fake_copy(uint64_t bytes, uint64_t start, uint64_t end, uint32_t stream, uint32_t correlation);
void fake_launch(uint32_t tid, uint64_t start, uint64_t end, uint32_t correlation);
void fake_memory(bool alloc, uint64_t addr, uint64_t bytes, uint64_t t);

int cuptiActivityRegisterCallbacks(cupti_request_fn *r, cupti_complete_fn *c)
{
	request = r;
	complete = c;
	return CUPTI_OK;
}

int cuptiActivityEnable(int kind)
{
	if (kind >= 0 && kind < 64)
		enabled[kind] = true;
	return CUPTI_OK;
}

int cuptiActivityEnableRuntimeApi(uint32_t id, uint8_t on)
{
	enabled[CUPTI_RUNTIME] |= on && id == 211;
	return CUPTI_OK;
}

int cuptiActivityEnableDriverApi(uint32_t id, uint8_t on)
{
	enabled[CUPTI_DRIVER] |= on && id == 307;
	return CUPTI_OK;
}

int cuptiActivityFlushAll(uint32_t forced)
{
	(void)forced;
	if (buffer)
		complete(NULL, 0, buffer, size, used);
	buffer = NULL;
	used = size = 0;
	return CUPTI_OK;
}

/* Records are kept behind their length, as eight bytes. */
int cuptiActivityGetNextRecord(uint8_t *b, size_t valid, void **record)
{
	uint64_t n;
	uint8_t *p = b;
	if (*record) {
		memcpy(&n, (uint8_t *)*record - 8, 8);
		p = (uint8_t *)*record + n;
	}
	if (p + 8 > b + valid)
		return CUPTI_NO_MORE;
	*record = p + 8;
	return CUPTI_OK;
}

int cuptiGetCallbackName(int domain, uint32_t id, const char **name)
{
	*name = domain == CUPTI_DOMAIN_RUNTIME && id == 211 ? "cudaLaunchKernel_v7000" : "other";
	return CUPTI_OK;
}

static void put(const void *record, size_t n)
{
	uint32_t kind;
	uint64_t padded = (n + 7) / 8 * 8;
	memcpy(&kind, record, sizeof kind);
	if (!request || !enabled[kind])
		return;
	if (buffer && used + padded + 8 > size)
		cuptiActivityFlushAll(0);
	if (!buffer)
		request(&buffer, &size, &most);
	if (!buffer)
		return;
	memcpy(buffer + used, &padded, 8);
	memcpy(buffer + used + 8, record, n);
	used += padded + 8;
}

void fake_kernel(const char *name, uint64_t start, uint64_t end, uint32_t stream,
		 uint32_t correlation)
{
	cupti_kernel k = { .kind = CUPTI_KERNEL,
			   .start = start,
			   .end = end,
			   .stream = stream,
			   .correlation = correlation,
			   .name = name,
			   .grid = { 4, 1, 1 },
			   .block = { 256, 1, 1 },
			   .registers = 32 };
	put(&k, sizeof k);
}

void fake_copy(uint64_t bytes, uint64_t start, uint64_t end, uint32_t stream, uint32_t correlation)
{
	cupti_memcpy c = { .kind = CUPTI_MEMCPY,
			   .copy = 1,
			   .source = 1,
			   .target = 3,
			   .bytes = bytes,
			   .start = start,
			   .end = end,
			   .stream = stream,
			   .correlation = correlation };
	put(&c, sizeof c);
}

void fake_launch(uint32_t tid, uint64_t start, uint64_t end, uint32_t correlation)
{
	cupti_api a = { .kind = CUPTI_RUNTIME,
			.id = 211,
			.start = start,
			.end = end,
			.tid = tid,
			.correlation = correlation };
	put(&a, sizeof a);
}

void fake_memory(bool alloc, uint64_t addr, uint64_t bytes, uint64_t t)
{
	cupti_memory m = { .kind = CUPTI_MEMORY,
			   .operation = alloc ? 1 : 2,
			   .memory = 3,
			   .address = addr,
			   .bytes = bytes,
			   .timestamp = t };
	put(&m, sizeof m);
}
