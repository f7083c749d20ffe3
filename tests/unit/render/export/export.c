// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Properties of all exporters: selection by name, failing memory, failing disk, equal bytes.
 * tests/property/check_exports.py checks their output. */
#include "some_model.h"
#include "base/mem.h"
#include "render/export/export.h"
#include "render/export/protobuf.h"
#include "testing.h"

static void by_file_name(void **state)
{
	static const struct {
		const char *path, *format;
	} rows[] = {
		{ "a.json", "chrome" },
		{ "a.json.gz", "chrome" },
		{ "a.pftrace", "perfetto" },
		{ "a.pb.gz", "pprof" },
		{ "a.pprof", "pprof" },
		{ "a.speedscope.json", "speedscope" },
		{ "A.SPEEDSCOPE.JSON.GZ", "speedscope" },
		{ "a.folded", "folded" },
		{ ".json", NULL },
		{ "json", NULL },
		{ "a.xyz", NULL },
		{ "", NULL },
		{ ".gz", NULL },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const tide_exporter *e = tide__exporter_for(rows[i].path);
		if ((e == NULL) != (rows[i].format == NULL) ||
		    (e && strcmp(e->name, rows[i].format)))
			fail_msg("%s: %s", rows[i].path, e ? e->name : "none");
	}
	assert_null(tide__exporter_find("nothing"));
}

static char *export(const tide_exporter *e, const tide_model *m, bool gz, size_t *n, tide_code *rc)
{
	char *text = NULL;
	tide_export_stats st;
	tide_export_options o = { 0 };
	FILE *f = open_memstream(&text, n);
	*rc = tide__export(e, m, &o, gz, f, &st, NULL);
	fclose(f);
	return text;
}

static void same_bytes_every_time(void **state)
{
	tide_model *m = some_model(11, 150, 50);
	for (const tide_exporter *const *e = tide__exporters; *e; e++)
		for (int gz = 0; gz < 2; gz++) {
			size_t n1, n2;
			tide_code rc;
			char *a = export(*e, m, gz, &n1, &rc), *b = export(*e, m, gz, &n2, &rc);
			assert_int_equal(rc, TIDE_OK);
			assert_int_equal(n1, n2);
			assert_memory_equal(a, b, n1);
			free(a);
			free(b);
		}
	tide__model_free(m);
}

static void empty_model(void **state)
{
	tide_model *m = tide__model_new();
	for (const tide_exporter *const *e = tide__exporters; *e; e++) {
		size_t n;
		tide_code rc;
		free(export(*e, m, false, &n, &rc));
		assert_int_equal(rc, TIDE_OK);
	}
	tide__model_free(m);
}

static void no_memory(void **state)
{
	tide_model *m = some_model(5, 60, 30);
	for (const tide_exporter *const *e = tide__exporters; *e; e++)
		for (uint64_t at = 1, met = 1; met; at++) {
			size_t n, whole;
			tide_code rc;
			free(export(*e, m, true, &whole, &rc));
			tide__mem_fail_at(at);
			char *text = export(*e, m, true, &n, &rc);
			met = tide__mem_count() >= at;
			tide__mem_fail_at(0);
			free(text);
			if (rc != TIDE_OK && (rc != TIDE_ENOMEM || !met))
				fail_msg("%s: allocation %d: code %d", (*e)->name, (int)at, rc);
			if (rc == TIDE_OK && n != whole)
				fail_msg("%s: allocation %d fails: %zu bytes of %zu", (*e)->name,
					 (int)at, n, whole);
		}
	tide__model_free(m);
}

/* Outer frames of an extremely deep stack are left out, with a note. */
static void deep_stack(void **state)
{
	const char *end = "(1): f;...(0): [more frames]\"";
	const tide_exporter *shot = tide__exporter_find("snapshot");
	tide_model *m = some_model(5, 10, 3);
	tide_stack_id s = { 0 };
	size_t n;
	tide_code rc;
	for (uint32_t i = 1; i <= 2049; i++)
		s = tide__stack_intern(
			m, s, tide__frame_intern(m, tide__intern(m, "f"), (tide_str){ 0 }, i));
	m->spans.stack[1] = m->stacks.parent[s.i];
	char *text = export(tide__exporter_find("chrome"), m, false, &n, &rc);
	assert_null(strstr(text, "more frames"));
	assert_non_null(strstr(text, "(1): f\""));
	free(text);
	m->spans.stack[1] = s;
	text = export(tide__exporter_find("chrome"), m, false, &n, &rc);
	assert_null(strstr(text, end)); /* frame 1 is the one too many */
	assert_non_null(strstr(text, end + 8));
	free(text);
	for (int deep = 0; deep < 2; deep++) {
		m->allocs.stack[1] = deep ? s : m->stacks.parent[s.i];
		text = export(shot, m, false, &n, &rc);
		assert_int_equal(rc, TIDE_OK);
		assert_int_equal(memmem(text, n, "[more frames]", 13) != NULL, deep);
		free(text);
	}
	tide__model_free(m);
}

static void disk_full(void **state)
{
	tide_model *m = some_model(5, 3000, 300);
	for (const tide_exporter *const *e = tide__exporters; *e; e++) {
		FILE *f = fopen("/dev/full", "w");
		tide_export_stats st;
		tide_export_options o = { 0 };
		if (!f)
			skip();
		setvbuf(f, NULL, _IONBF, 0);
		tide_code rc = tide__export(*e, m, &o, (*e)->gzip, f, &st, NULL);
		fclose(f);
		if (rc != TIDE_EIO)
			fail_msg("%s: code %d", (*e)->name, rc);
	}
	tide__model_free(m);
}

static void proto_bytes(void **state)
{
	tide_proto p = { 0 };
	tide__proto_u64(&p, 1, 300);
	size_t at = tide__proto_begin(&p, 2);
	tide__proto_text(&p, 3, "a\xff", 2);
	tide__proto_end(&p, at);
	tide__proto_i64(&p, 4, -1);
	tide__proto_fixed64(&p, 5, 1);
	static const uint8_t want[] = { 0x08, 0xac, 0x02, 0x12, 0x05, 0x1a, 0x03, 'a',	0xc3, 0xbf,
					0x20, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					0x01, 0x29, 1,	  0,	0,    0,    0,	  0,	0,    0 };
	assert_false(p.failed);
	assert_int_equal(p.n, sizeof want);
	assert_memory_equal(p.buf, want, sizeof want);
	at = tide__proto_begin(&p, 6); /* a length of two bytes */
	for (int i = 0; i < 200; i++)
		tide__proto_varint(&p, 1);
	tide__proto_end(&p, at);
	assert_int_equal(p.n, sizeof want + 3 + 200);
	tide__proto_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_file_name), cmocka_unit_test(same_bytes_every_time),
		cmocka_unit_test(empty_model),	cmocka_unit_test(no_memory),
		cmocka_unit_test(disk_full),	cmocka_unit_test(deep_stack),
		cmocka_unit_test(proto_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
