// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Runs every report of the registry in every form, every exporter, and the page. For fuzzing: the output is discarded; the test finds crashes, hangs, broken rules, and
 * documents that are not as described. */
#ifndef TIDE_TESTS_EVERYTHING_H
#define TIDE_TESTS_EVERYTHING_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/export/export.h"
#include "render/page/page.h"
#include "report/arrow.h"
#include "report/csv.h"
#include "report/registry.h"
#include "report/rows.h"
#include "report/text.h"

static void check(tide_code rc, const tide_error *err)
{
	if (rc == TIDE_EUSAGE && strstr(err->text, "not as described")) {
		fprintf(stderr, "%s\n", err->text);
		abort();
	}
}

/* `pairs`: options, or NULL. */
static void write_report(const tide_report_type *type, const tide_report_traces *in,
			 const tide_pair *pairs, size_t n, FILE *null)
{
	tide_report *r;
	tide_error err = { 0 };
	tide_out to = { .out = null };
	tide_code rc = tide__report_find_pairs(type, in, pairs, n, &r, &err);
	check(rc, &err);
	if (rc != TIDE_OK)
		return;
	type = r->type; /* an option may choose another report */
	(void)tide__report_text(type, r->result, &to);
	(void)tide_report_json(r, null);
	for (size_t i = 0; i < tide__rows_count(type); i++) {
		(void)tide__csv_write(type, r->result, i, null);
		(void)tide__arrow_write(type, r->result, i, null);
	}
	tide_report_free(r);
}

/* The report with defaults, and with every flag and one word of every list: which one, the model
 * decides. */
static void ask_report(const tide_report_type *type, const tide_model *m, FILE *null)
{
	const tide_model *models[] = { m, m };
	const uint64_t sizes[] = { 1, 2 };
	tide_report_traces in = { .models = models, .n = 1, .sizes = sizes };
	tide_pair pairs[64];
	char words[64][40];
	size_t n = 0;
	if (type->input == TIDE_INPUT_PAIR || type->input == TIDE_INPUT_SIZES)
		in.n = 2;
	write_report(type, &in, NULL, 0, null);
	for (size_t i = 0; i < type->n_options && n < 64; i++) {
		const tide_option *o = &type->options[i];
		const char *word = o->arg;
		for (size_t k = (m->allocs.n + m->spans.n) % 9; o->kind == TIDE_OPT_ENUM && k; k--)
			word = strchr(word, ',') ? strchr(word, ',') + 1 : o->arg;
		if (o->kind == TIDE_OPT_ENUM)
			snprintf(words[n], sizeof words[n], "%.*s", (int)strcspn(word, ","), word);
		else if (o->kind == TIDE_OPT_FLAG && !o->arg)
			snprintf(words[n], sizeof words[n], "true");
		else
			continue;
		pairs[n] = (tide_pair){ o->name, words[n] };
		n++;
	}
	write_report(type, &in, pairs, n, null);
}

/* Reports of the registry, then exporters, and the page. */
static size_t count_everything(void)
{
	size_t reports = 0, exporters = 0;
	while (tide__reports[reports])
		reports++;
	while (tide__exporters[exporters])
		exporters++;
	return reports + exporters + 1;
}

/* Writes the i-th of them. */
static void ask_some(tide_model *m, size_t i)
{
	static FILE *null;
	tide_error err = { 0 };
	if (!null && !(null = fopen("/dev/null", "w")))
		abort();
	setenv("TIDEMARK_TEST_REPORTS", "1", 1);
	for (size_t k = 0; tide__reports[k]; k++)
		if (i-- == 0) {
			ask_report(tide__reports[k], m, null);
			return;
		}
	for (size_t k = 0; tide__exporters[k]; k++)
		if (i-- == 0) {
			tide_export_options opt = { 0 };
			tide_export_stats st = { 0 };
			(void)tide__export(tide__exporters[k], m, &opt, false, null, &st, &err);
			return;
		}
	tide_page_options page = { 0 };
	(void)tide__page_write(m, &page, null, &err);
}

static inline void ask_everything(tide_model *m)
{
	for (size_t i = 0; i < count_everything(); i++)
		ask_some(m, i);
}

/* In a fuzzer: one of them, which the input's last byte chooses, so that hundreds of inputs run
 * every second. The kept corpus goes through all of them. */
static inline void ask_by(tide_model *m, const uint8_t *data, size_t n)
{
#ifdef TIDE_FUZZING
	ask_some(m, (n ? data[n - 1] : 0) % count_everything());
#else
	(void)data;
	(void)n;
	ask_everything(m);
#endif
}

#endif
