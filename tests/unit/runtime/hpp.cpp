// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* tidemark.hpp as C++11: it compiles without a warning, and scopes end what they began. */
#include <cstdio>
#include <unistd.h>

#include <tidemark/tidemark.hpp>

static int failures;
#define CHECK(x)       \
	((x) ? (void)0 \
	     : (void)(std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x), failures++))

int main()
{
	std::string path = "/tmp/tide-hpp-" + std::to_string(getpid()) + ".tide";
	{
		tidemark::recording rec(path, tidemark::recording::or_throw());
		CHECK(rec.ok() && tide_recording());
		tidemark::recording second(path + ".second"); /* inert: one at a time */
		CHECK(!second.ok() && second.error().code == TIDE_EBUSY);
		tidemark::pool pool(tidemark::device(TIDE_DEVICE_HOST, 0, "cpu"), TIDE_POOL_HEAP,
				    "heap");
		try {
			TIDEMARK_OP("forward");
			tidemark::op inner(std::string("layer ") + std::to_string(1));
			tidemark::op moved(std::move(inner));
			tidemark::block block(pool, 4096, 64);
			throw 1;
		} catch (int) {
		}
		tide_stats s = tide_stats();
		tide_stats_get(&s);
		CHECK(s.events == 6); /* two ops, one block */
		CHECK(rec.stop() == TIDE_OK && !tide_recording());
	}
	bool thrown = false;
	try {
		tidemark::recording bad("/nonexistent/x.tide", tidemark::recording::or_throw());
	} catch (const std::runtime_error &) {
		thrown = true;
	}
	CHECK(thrown);
	unlink(path.c_str());
	return failures != 0;
}
