// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Idle time per stream: every gap between the greatest end so far and the next start belongs to
 * one class.
 *
 *   host_wait    the row's launch is in the trace and began after everything before it had ended:
 *                the stream waited for the host
 *   kernel_wait  else, and the gap is short (below 30 us): scheduling between kernels
 *   other        else: waiting for another stream, an event, or unknown
 *
 * The classes of a stream add up to span - busy. Rows are already sorted by (start, end). */
#include "analyze/device/hta_parts.h"
#include "base/mem.h"

const char *const tide__idle_text[TIDE_IDLE_CLASSES] = { "host_wait", "kernel_wait", "other" };

static void gap(const tide_hta_input *in, tide_hta_stream *s, size_t row, int64_t end)
{
	int64_t length = tide__row_t0(in, row) - end;
	uint32_t launch = tide__row_launch(in, row);
	int class = length < in->opt.kernel_wait_ns ? TIDE_IDLE_KERNEL_WAIT : TIDE_IDLE_OTHER;
	if (launch && in->m->spans.t0[launch] > end)
		class = TIDE_IDLE_HOST_WAIT;
	s->idle[class] += length;
	s->gaps[class]++;
	if (!launch) {
		s->unlaunched_gaps++;
		s->unlaunched_ns += length;
	}
}

bool tide__hta_find_idle(const tide_hta_input *in, tide_hta *h)
{
	tide_union_length *u = tide__calloc(in->rows->n_streams, sizeof *u);
	if (!u)
		return false;
	for (size_t i = 0; i < in->rows->n_streams; i++) {
		tide_hta_stream *s = TIDE_HTA_PUSH(h, streams);
		if (!s) {
			tide__free(u);
			return false;
		}
		s->device = in->rows->streams[i].device;
		s->number = in->rows->streams[i].number;
	}
	for (size_t i = 0; i < in->rows->n; i++) {
		tide_union_length *r = &u[in->rows->stream[i]];
		tide_hta_stream *s = &h->streams.v[in->rows->stream[i]];
		int64_t a = tide__row_t0(in, i), b = tide__row_t1(in, i);
		if (r->any && a > r->end)
			gap(in, s, i, r->end);
		else if (r->any && a < r->end)
			s->overlapping++;
		tide__union_length_add(r, a, b);
		tide__stat_add(&s->dur, b - a);
		s->rows++;
	}
	for (size_t i = 0; i < in->rows->n_streams; i++) {
		h->streams.v[i].span = u[i].end - u[i].first;
		h->streams.v[i].busy = u[i].length;
	}
	tide__free(u);
	return true;
}
