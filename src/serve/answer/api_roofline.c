// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* /api/profiler/roofline: operations and bytes of ops with shapes, compared with the device's peaks.
 * Unknown figures are null; nothing is guessed. */
#include "analyze/device/flops.h"
#include "base/error.h"
#include "serve/answer/api.h"

enum { POINTS = 200 }; /* listed at most; the sums are of all */

typedef struct hardware {
	const char *name; /* borrowed; NULL = unknown */
	const tide_device_peak *known;
	double tflops, gb_s; /* given, or 16 bit of the table; 0 = unknown */
	bool given;	     /* one peak for every dtype */
} hardware;

static void number(tide_json *j, const char *key, bool known, double v, int decimals)
{
	if (known)
		tide__json_kfixed(j, key, v, decimals);
	else
		tide__json_knull(j, key);
}

/* Returns false if a given figure is not a number. */
static bool read_hardware(tide_ask *a, const tide_loaded *l, hardware *h)
{
	int64_t tflops = 0, gb_s = 0;
	*h = (hardware){ 0 };
	for (uint32_t d = 1; l && d < l->m->devices.n && !h->name; d++)
		if (l->m->devices.kind[d] != TIDE_DEVICE_HOST && l->m->devices.name[d].i)
			h->name = tide__text(l->m, l->m->devices.name[d], NULL);
	h->known = tide__device_peak(h->name);
	if (!tide__request_get_decimal(a->req, "peak_tflops", 3, INT64_MAX / 1000, &tflops) ||
	    !tide__request_get_decimal(a->req, "memory_bandwidth_gb_s", 3, INT64_MAX / 1000, &gb_s))
		return false;
	h->given = tflops > 0;
	h->tflops = tflops ? (double)tflops / 1000 : h->known ? h->known->tflops_16 : 0;
	h->gb_s = gb_s ? (double)gb_s / 1000 : h->known ? h->known->gb_s : 0;
	return true;
}

static void put_hardware(tide_json *j, const hardware *h)
{
	static const char *const dtypes[] = { "float64", "float32", "bfloat16", "float8" };
	tide__json_kobject(j, "hardware_specs");
	tide__json_kbool(j, "has_real_data", h->tflops > 0 && h->gb_s > 0);
	tide__json_kstr(j, "name", h->name);
	number(j, "memory_bandwidth_gb_s", h->gb_s > 0, h->gb_s, 3);
	number(j, "peak_tflops", h->tflops > 0, h->tflops, 3);
	tide__json_kobject(j, "peak_tflops_by_dtype");
	for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
		double v = h->given ? h->tflops : tide__device_peak_of(h->known, dtypes[i], 0);
		number(j, dtypes[i], v > 0, v, 3);
	}
	double tf32 = h->given ? h->tflops : h->known ? h->known->tflops_tf32 : 0;
	number(j, "tf32", tf32 > 0, tf32, 3);
	tide__json_object_end(j);
	tide__json_object_end(j);
}

static void put_point(tide_json *j, const tide_model *m, const tide_flop_row *r, const hardware *h)
{
	double tflops = r->flops / (double)r->ns / 1e3,
	       intensity = r->bytes > 0 ? r->flops / r->bytes : 0;
	double peak = h->given ? h->tflops : tide__device_peak_of(h->known, r->dtype, tflops);
	bool bound = peak > 0 && h->gb_s > 0 && intensity > 0;
	double roof = bound && intensity * h->gb_s / 1e3 < peak ? intensity * h->gb_s / 1e3 : peak;
	tide__json_object(j);
	tide__json_ktext(j, "name", m, r->name);
	tide__json_ktext(j, "input_dims", m, r->dims);
	tide__json_kstr(j, "dtype", r->dtype);
	tide__json_kuint(j, "count", r->calls);
	tide__json_kfixed(j, "flops", r->flops, 0);
	number(j, "bytes", r->bytes > 0, r->bytes, 0);
	tide__json_kfixed(j, "time_us", (double)r->ns / 1e3, 3);
	number(j, "arithmetic_intensity", intensity > 0, intensity, 4);
	tide__json_kfixed(j, "achieved_tflops", tflops, 6);
	number(j, "peak_tflops", peak > 0, peak, 3);
	number(j, "peak_pct", peak > 0, 100 * tflops / (peak > 0 ? peak : 1), 4);
	number(j, "roof_pct", bound, 100 * tflops / (bound ? roof : 1), 4);
	tide__json_kstr(j, "bound", !bound ? NULL : roof < peak ? "memory" : "compute");
	tide__json_object_end(j);
}

static void put_sum(tide_json *j, const tide_flops *f)
{
	tide__json_karray(j, "benchmark_details");
	if (f->n) {
		tide__json_object(j);
		tide__json_kstr(j, "time_of", f->device ? "device" : "host");
		tide__json_kuint(j, "ops", f->calls);
		tide__json_kuint(j, "ops_without_shapes", f->shapeless);
		tide__json_kuint(j, "ops_without_time", f->timeless);
		tide__json_kfixed(j, "flops", f->flops, 0);
		tide__json_kfixed(j, "time_us", (double)f->ns / 1e3, 3);
		number(j, "achieved_tflops", f->ns > 0,
		       f->flops / (double)(f->ns > 0 ? f->ns : 1) / 1e3, 6);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static const char *why(const tide_loaded *l, const tide_flops *f)
{
	return !l	   ? tide__api_none
	       : f->n	   ? NULL
	       : !f->calls ? "the recording has no matrix product, convolution or attention"
	       : f->shapeless == f->calls
		       ? "shapes of ops are not in the recording: record with torch.profiler and "
			 "record_shapes=True (shapes of large files are not kept)"
		       : "the ops with shapes have no recorded device time";
}

tide_code tide__answer_roofline(tide_ask *a, tide_error *err)
{
	tide_loaded *l;
	tide_json j;
	hardware h;
	tide_flops f = { 0 };
	tide_code rc = tide__ask_param(a, "recording", &l, err);
	if (rc != TIDE_OK)
		return rc;
	if (!read_hardware(a, l, &h))
		return tide__ask_wrong(a, err);
	if (l && (rc = tide__find_flops(l->m, &f, err)) != TIDE_OK)
		return rc;
	tide__api_begin(&j, a, l, f.n > 0);
	tide__json_karray(&j, "baseline_points");
	for (size_t i = 0; i < f.n && i < POINTS; i++)
		put_point(&j, l->m, &f.v[i], &h);
	tide__json_array_end(&j);
	tide__json_karray(&j, "optimized_points"); /* one recording has one side */
	tide__json_array_end(&j);
	put_hardware(&j, &h);
	put_sum(&j, &f);
	rc = tide__api_end(&j, why(l, &f), err);
	tide__flops_free(&f);
	return rc;
}
