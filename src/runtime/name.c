// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The public calls that make definitions: encode the fields, ask defs.c for the id. */
#include <string.h>

#include "runtime/defs.h"
#include "runtime/recorder.h"

/* Returns the log to write to; NULL when not recording. In a slow section. */
static tide_ring_file *log_now(void)
{
	return atomic_load_explicit(&tide__guard.generation, memory_order_relaxed)
		       ? &tide__rec.space
		       : NULL;
}

/* Defines a name. Runs in a slow section. */
static uint32_t define_name(const char *text)
{
	if (!text || !*text)
		return 0;
	size_t n = strnlen(text, 65535);
	uint8_t len[10];
	return tide__define(TIDE_REC_NAME, len, (size_t)(tide__put_v(len, n) - len), text, n,
			    UINT32_MAX - 1, log_now());
}

tide_name tide_intern(const char *text)
{
	tide_slow_section s;
	if (!text || !tide__slow_enter(&s))
		return 0;
	uint32_t id = define_name(text);
	tide__slow_leave(&s);
	return id;
}

tide_name tide_name_static(const char *text)
{
	if (!text)
		return 0;
	uint32_t id = tide__static_find(text);
	if (__builtin_expect(id != 0, 1))
		return id;
	tide_slow_section s;
	if (!tide__slow_enter(&s))
		return 0;
	id = define_name(text);
	if (id)
		tide__static_add(text, id);
	tide__slow_leave(&s);
	return id;
}

/* Lock held. */
static uint32_t define_frame(tide_name function, tide_name file, uint32_t line)
{
	uint8_t f[32], *p = tide__put_v(f, function);
	p = tide__put_v(p, file);
	p = tide__put_v(p, line);
	return tide__define(TIDE_REC_FRAME, f, (size_t)(p - f), NULL, 0, UINT32_MAX - 1, log_now());
}

/* Lock held. */
static uint32_t push_frame(tide_stack parent, tide_name function, tide_name file, uint32_t line)
{
	uint32_t id = define_frame(function, file, line);
	if (id) {
		uint8_t f[16], *p = tide__put_v(f, parent);
		p = tide__put_v(p, id);
		id = tide__define(TIDE_REC_STACK, f, (size_t)(p - f), NULL, 0, UINT32_MAX - 1,
				  log_now());
	}
	return id;
}

tide_stack tide_stack_push(tide_stack parent, tide_name function, tide_name file, uint32_t line)
{
	tide_slow_section s;
	if (!tide__slow_enter(&s))
		return 0;
	uint32_t id = push_frame(parent, function, file, line);
	tide__slow_leave(&s);
	return id;
}

uint32_t tide__stack_push_texts(uint32_t parent, tide_text_frame *frames, size_t n)
{
	tide_slow_section s;
	uint32_t ids[TIDE_STACKS_MAX], first = 0;
	size_t i = 0;
	if (n > TIDE_STACKS_MAX || !tide__slow_enter(&s))
		return 0;
	for (; i < n; i++) {
		tide_text_frame *f = &frames[i];
		if (!f->id)
			f->id = define_frame(define_name(f->function),
					     f->file ? define_name(f->file) : 0, 0);
		if (!f->id)
			break;
		ids[i] = f->id;
	}
	if (i == n)
		first = tide__define_stacks(parent, ids, n, log_now());
	tide__slow_leave(&s);
	return first;
}

tide_device tide_device_open(int kind, int index, const char *name, uint64_t capacity)
{
	tide_slow_section s;
	if (!tide__slow_enter(&s))
		return 0;
	uint8_t f[64], *p = tide__put_v(f, (uint32_t)kind);
	p = tide__put_z(p, index);
	p = tide__put_v(p, define_name(name));
	p = tide__put_v(p, capacity);
	uint32_t id =
		tide__define(TIDE_REC_DEVICE, f, (size_t)(p - f), NULL, 0, UINT16_MAX, log_now());
	tide__slow_leave(&s);
	return (tide_device)id;
}

tide_pool tide_pool_open(tide_device device, int kind, const char *name, uint64_t capacity)
{
	tide_slow_section s;
	if (!tide__slow_enter(&s))
		return 0;
	uint8_t f[64], *p = tide__put_v(f, device);
	p = tide__put_v(p, (uint32_t)kind);
	p = tide__put_v(p, define_name(name));
	p = tide__put_v(p, capacity);
	p = tide__put_v(p, 0); /* banks */
	uint32_t id = tide__define(TIDE_REC_POOL, f, (size_t)(p - f), NULL, 0, 4095, log_now());
	tide__slow_leave(&s);
	return (tide_pool)id;
}

tide_stream tide_stream_open(tide_device device, int64_t number, const char *name)
{
	tide_slow_section s;
	if (!tide__slow_enter(&s))
		return 0;
	uint8_t f[64], *p = tide__put_v(f, device);
	p = tide__put_z(p, number);
	p = tide__put_v(p, define_name(name));
	uint32_t id =
		tide__define(TIDE_REC_STREAM, f, (size_t)(p - f), NULL, 0, UINT16_MAX, log_now());
	tide__slow_leave(&s);
	return (tide_stream)id;
}
