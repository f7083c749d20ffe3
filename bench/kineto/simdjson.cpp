// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The same scan with simdjson's on-demand interface (see scan.c). Fields are read in the order of
 * the text, names are interned in a hash table like ours, times are converted to int64 ns from
 * their decimal text. */
#include <simdjson.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace simdjson;

static double now()
{
	timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

struct Interner {
	struct Entry {
		uint64_t hash;
		std::string_view text;
	};
	std::vector<uint32_t> slots = std::vector<uint32_t>(1 << 16);
	std::vector<Entry> entries{ Entry{} };
	std::vector<char *> owned;

	uint32_t add(std::string_view s)
	{
		uint64_t h = XXH3_64bits(s.data(), s.size());
		size_t at = h & (slots.size() - 1);
		while (slots[at]) {
			const Entry &e = entries[slots[at]];
			if (e.hash == h && e.text == s)
				return slots[at];
			at = (at + 1) & (slots.size() - 1);
		}
		char *copy = static_cast<char *>(malloc(s.size() + 1));
		memcpy(copy, s.data(), s.size());
		owned.push_back(copy);
		entries.push_back({ h, { copy, s.size() } });
		return slots[at] = uint32_t(entries.size() - 1);
	}
	~Interner()
	{
		for (char *p : owned)
			free(p);
	}
};

struct Row {
	int64_t ts, dur;
	int64_t pid, tid;
	uint64_t id, ext;
	int64_t device, stream;
	uint32_t name, cat;
	char ph;
};

static int64_t to_ns(std::string_view t)
{
	int64_t whole = 0, frac = 0;
	size_t i = 0;
	for (; i < t.size() && unsigned(t[i] - '0') < 10; i++)
		whole = whole * 10 + (t[i] - '0');
	static const int64_t scale[] = { 1000, 100, 10, 1 };
	size_t d = 0;
	if (i < t.size() && t[i] == '.')
		for (i++; d < 3 && i < t.size() && unsigned(t[i] - '0') < 10; i++, d++)
			frac = frac * 10 + (t[i] - '0');
	return whole * 1000 + frac * scale[d];
}

static int64_t number(ondemand::value v)
{
	int64_t n = -1;
	return v.get_int64().get(n) == SUCCESS ? n : -1;
}

static void read_args(ondemand::object args, Row &r)
{
	for (auto field : args) {
		ondemand::raw_json_string k = field.key();
		if (k == "External id")
			r.ext = uint64_t(number(field.value()));
		else if (k == "correlation")
			r.id = uint64_t(number(field.value()));
		else if (k == "stream")
			r.stream = number(field.value());
		else if (k == "device")
			r.device = number(field.value());
	}
}

static void read_event(ondemand::object e, Interner &names, Row &r)
{
	for (auto field : e) {
		ondemand::raw_json_string k = field.key();
		if (k == "ts")
			r.ts = to_ns(field.value().raw_json_token());
		else if (k == "dur")
			r.dur = to_ns(field.value().raw_json_token());
		else if (k == "name")
			r.name = names.add(field.value().get_string().value());
		else if (k == "cat")
			r.cat = names.add(field.value().get_string().value());
		else if (k == "ph")
			r.ph = field.value().get_string().value()[0];
		else if (k == "pid")
			r.pid = number(field.value());
		else if (k == "tid")
			r.tid = number(field.value());
		else if (k == "args")
			read_args(field.value().get_object(), r);
	}
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 1;
	int rounds = argc > 2 ? atoi(argv[2]) : 5;
	padded_string text = padded_string::load(argv[1]);
	double best = 1e9;
	size_t events = 0, spans = 0, n_names = 0;
	uint64_t dur = 0, links = 0;
	for (int i = 0; i < rounds; i++) {
		double t0 = now();
		ondemand::parser parser;
		Interner names;
		std::vector<Row> rows;
		rows.reserve(4096);
		events = spans = 0;
		dur = links = 0;
		ondemand::document doc = parser.iterate(text);
		for (auto event : doc["traceEvents"].get_array()) {
			Row r{};
			read_event(event.get_object(), names, r);
			events++;
			spans += r.ph == 'X';
			dur += r.ph == 'X' ? uint64_t(r.dur) : 0;
			links += r.id + r.ext;
			rows.push_back(r);
			if (rows.size() == 4096)
				rows.clear();
		}
		n_names = names.entries.size() - 1;
		double s = now() - t0;
		best = s < best ? s : best;
	}
	printf("simdjson %.6f s %zu bytes %.0f MB/s %zu events %zu spans %zu names dur %llu links %llu (%s)\n",
	       best, text.size(), double(text.size()) / best / 1e6, events, spans, n_names,
	       (unsigned long long)dur, (unsigned long long)links,
	       get_active_implementation()->name().c_str());
	return 0;
}
