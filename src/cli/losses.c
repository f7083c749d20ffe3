// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What was lost or repaired, after every report. A loss is a fact whose key starts with "loss." and
 * whose value is a text or a number that is not 0. */
#include <string.h>

#include "cli/cli.h"
#include "render/format.h"
#include "render/losses.h"

/* The part of a fact's key after "loss.", or NULL when it is not a loss or lost nothing. */
static const char *loss_key(const tide_model *m, size_t i)
{
	const char *key = tide__text(m, m->facts.key[i], NULL);
	bool nothing = !m->facts.text[i].i && !m->facts.number[i];
	return strncmp(key, "loss.", 5) || nothing ? NULL : key + 5;
}

/* Events that were read from a ring file, -1 = there was none to read. */
static int64_t from_rings(const tide_model *m)
{
	int64_t events = 0;
	bool found = false;
	for (size_t i = 0; i < m->facts.n; i++) {
		const char *key = tide__text(m, m->facts.key[i], NULL);
		found |= !strcmp(key, "recovered.from");
		if (!strcmp(key, "recovered.events"))
			events = m->facts.number[i];
	}
	return found ? events : -1;
}

static void put_from_rings(const tide_args *a, const tide_model *m, bool first)
{
	char num[32], text[200];
	int64_t n = from_rings(m);
	if (n < 0)
		return;
	snprintf(text, sizeof text,
		 "the recording was not closed (its process was killed or is still running): %s "
		 "events were read from its ring file",
		 tide__fmt_count(num, sizeof num, n));
	fputs(first ? "\nnote: " : "note: ", a->out);
	tide__put_words(a->out, text, 6, 6, a->style.width);
}

void tide__cli_losses(const tide_args *a, const tide_model *m)
{
	bool first = true;
	for (size_t i = 0; i < m->facts.n; i++) {
		const char *key = loss_key(m, i);
		size_t n;
		if (!key)
			continue;
		if (first)
			fputc('\n', a->out);
		first = false;
		const char *text = tide__text(m, m->facts.text[i], &n);
		tide__put_loss(a->out, &a->style, key, text, n, m->facts.number[i]);
	}
	put_from_rings(a, m, first);
}

void tide__cli_losses_json(tide_json *j, const tide_model *m)
{
	tide__json_key(j, "losses");
	tide__json_object(j);
	for (size_t i = 0; i < m->facts.n; i++) {
		const char *key = loss_key(m, i);
		size_t n;
		if (!key)
			continue;
		tide__json_key(j, key);
		if (m->facts.text[i].i) {
			const char *text = tide__text(m, m->facts.text[i], &n);
			tide__json_strn(j, text, n);
		} else {
			tide__json_int(j, m->facts.number[i]);
		}
	}
	tide__json_object_end(j);
	if (from_rings(m) >= 0)
		tide__json_kint(j, "recovered_events", from_rings(m));
}
