// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The Kineto importer over small texts: every kind of event, and damage. Each row is a text and a
 * description of the expected model; blocks of several sizes must give the same model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <isa-l/igzip_lib.h>

#include "base/mem.h"
#include "import/kineto/kineto.h"
#include "import/json/scan.h"
#include "import/source.h"
#include "testing.h"

#define EVENTS(text) "{\"traceEvents\":[" text "]}"
#define X(rest)	     "{\"ph\":\"X\",\"pid\":1,\"tid\":2," rest "}"

static tide_code load(const char *text, size_t n, size_t block, unsigned threads, tide_model **out,
		      tide_error *err)
{
	tide_source *src;
	tide_load_options opt = { .threads = threads };
	*out = NULL;
	tide_code rc = tide__source_open_memory(text, n, 0, &src, err);
	tide_model *m = rc == TIDE_OK ? tide__model_new() : NULL;
	if (m)
		rc = tide__kineto_load(src, &opt, block, m, err);
	else if (rc == TIDE_OK)
		rc = TIDE_ENOMEM;
	tide__source_close(src);
	if (rc == TIDE_OK)
		*out = m;
	else
		tide__model_free(m);
	return rc;
}

/* One line per row: `cat name lane t0-t1 <parent name`, losses at the end. */
static void describe(const tide_model *m, char *out, size_t room)
{
	size_t n = 0;
#define SAY(...)                                                               \
	do {                                                                   \
		if (n < room)                                                  \
			n += (size_t)snprintf(out + n, room - n, __VA_ARGS__); \
	} while (0)
	out[0] = 0;
	for (size_t i = 1; i < m->spans.n; i++) {
		uint32_t p = m->spans.parent[i].i, c = m->spans.cause[i].i, l = m->spans.lane[i].i;
		SAY("%s '%s' %s%lld %lld-%lld", tide__cat_text(m->spans.cat[i]),
		    tide__text(m, m->spans.name[i], NULL), tide__lane_kind_text(m->lanes.kind[l]),
		    (long long)m->lanes.number[l], (long long)m->spans.t0[i],
		    (long long)m->spans.t1[i]);
		if (p)
			SAY(" in '%s'", tide__text(m, m->spans.name[p], NULL));
		if (c)
			SAY(" by '%s'", tide__text(m, m->spans.name[c], NULL));
		SAY("\n");
	}
	for (size_t i = 0; i < m->flows.n; i++)
		SAY("flow %s '%s' '%s'\n", tide__flow_kind_text(m->flows.kind[i]),
		    tide__text(m, m->spans.name[m->flows.from[i].i], NULL),
		    tide__text(m, m->spans.name[m->flows.to[i].i], NULL));
	for (size_t i = 0; i < m->attrs.n; i++)
		SAY("attr %s=%s%lld\n", tide__text(m, m->attrs.key[i], NULL),
		    tide__text(m, m->attrs.text[i], NULL), (long long)m->attrs.number[i]);
	for (size_t i = 0; i < m->memory_events.n; i++) {
		uint32_t a = m->memory_events.row[i];
		SAY("%s %llu at %llu t%lld f%u\n",
		    tide__memory_event_text(m->memory_events.kind[i]),
		    (unsigned long long)m->allocs.size[a], (unsigned long long)m->allocs.addr[a],
		    (long long)tide__memory_event_time(m, i), m->allocs.flags[a]);
	}
	for (size_t i = 0; i < m->samples.n; i++)
		SAY("sample %s %g t%lld\n",
		    tide__text(m, m->counters.name[m->samples.counter[i].i], NULL),
		    m->samples.value[i], (long long)m->samples.t[i]);
	for (size_t i = 1; i < m->marks.n; i++)
		SAY("mark '%s' t%lld\n", tide__text(m, m->marks.name[i], NULL),
		    (long long)m->marks.t[i]);
	for (size_t i = 0; i < m->facts.n; i++) {
		const char *key = tide__text(m, m->facts.key[i], NULL);
		if (strncmp(key, "kineto.events", 13))
			SAY("fact %s=%s%lld\n", key, tide__text(m, m->facts.text[i], NULL),
			    (long long)m->facts.number[i]);
	}
#undef SAY
}

#define OP(n, ts, dur) X("\"cat\":\"cpu_op\",\"name\":\"" n "\",\"ts\":" ts ",\"dur\":" dur)
#define RUN(n, ts, dur, args)                                                      \
	X("\"cat\":\"cuda_runtime\",\"name\":\"" n "\",\"ts\":" ts ",\"dur\":" dur \
	  ",\"args\":{" args "}")
#define GPU(c, n, ts, dur, args)                                                            \
	"{\"ph\":\"X\",\"cat\":\"" c "\",\"name\":\"" n "\",\"pid\":0,\"tid\":7,\"ts\":" ts \
	",\"dur\":" dur ",\"args\":{" args "}}"
#define PY(n, ts, dur, id, parent)                                                    \
	X("\"cat\":\"python_function\",\"name\":\"" n "\",\"ts\":" ts ",\"dur\":" dur \
	  ",\"args\":{\"Python id\":" id ",\"Python parent id\":" parent "}")
#define MEM(ts, bytes, addr, total)                                                      \
	"{\"ph\":\"i\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":1,\"tid\":2,\"ts\":" ts \
	",\"args\":{\"Bytes\":" bytes ",\"Addr\":" addr                                  \
	",\"Device Type\":1,\"Device Id\":0,\"Total Allocated\":" total "}}"

#define XLA_NAME(what, tid, n)                                                          \
	"{\"ph\":\"M\",\"name\":\"" what "_name\",\"pid\":1,\"tid\":" tid ",\"args\":{" \
	"\"name\":\"" n "\"}}"
#define XLA_NAMES(device, lane)          \
	XLA_NAME("process", "0", device) \
	"," XLA_NAME("thread", "3", lane) "," XLA_NAME("thread", "4", "XLA Ops")
#define XLA(pid, tid, n, ts, dur, args)                                            \
	"{\"ph\":\"X\",\"pid\":" pid ",\"tid\":" tid ",\"ts\":" ts ",\"dur\":" dur \
	",\"name\":\"" n "\",\"args\":{" args "}}"

static const struct row {
	const char *name, *text, *want;
} rows[] = {
	/* the container */
	{ "one span", EVENTS(OP("a", "1", "2.5")), "op 'a' thread2 0-2500\n" },
	{ "bare array", "[" OP("a", "1", "2") "]", "op 'a' thread2 0-2000\n" },
	{ "bare array without its end is whole", "[" OP("a", "1", "2") ",",
	  "op 'a' thread2 0-2000\n" },
	{ "an event a line", OP("a", "1", "2") "\n" OP("b", "4", "2") "\n",
	  "op 'a' thread2 0-2000\nop 'b' thread2 3000-5000\n" },
	{ "byte order mark", "\xef\xbb\xbf" EVENTS(OP("a", "1", "2")), "op 'a' thread2 0-2000\n" },
	{ "no events", EVENTS(""), "error 3 at 0: JSON without trace events\n" },
	{ "no events but metadata", "{\"schemaVersion\":1,\"traceEvents\":[]}",
	  "fact kineto.schemaVersion=1\n" },
	{ "another object", "{\"version\":1,\"private\":true}",
	  "error 3 at 0: JSON without trace events\n" },
	{ "metadata before and after",
	  "{\"schemaVersion\": 1, \"traceEvents\": [" OP(
		  "a", "1", "2") "], \"traceName\": \"x\\ny\","
				 "\"metadata\": {\"deep\": [[{}]]}, \"with_stack\": 1}",
	  "op 'a' thread2 0-2000\nfact kineto.schemaVersion=1\nfact kineto.traceName=x\ny0\n"
	  "fact kineto.with_stack=1\n" },
	{ "distributedInfo",
	  "{\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3, \"world_size\": 8, "
	  "\"pg_config\":"
	  " [{\"pg_name\": \"0\"}]}, \"traceEvents\": [" OP("a", "1", "2") "]}",
	  "op 'a' thread2 0-2000\nfact distributed.backend=nccl0\nfact distributed.rank=3\n"
	  "fact distributed.world_size=8\nfact distributed.pg_config=[{\"pg_name\": \"0\"}]0\n" },
	{ "two files in one",
	  EVENTS(RUN("r1", "1", "1", "\"correlation\":5")) "\n" EVENTS(
		  GPU("kernel", "k2", "3", "1", "\"correlation\":5,\"stream\":7,\"device\":0")),
	  "runtime 'r1' thread2 0-1000\nkernel 'k2' stream7 2000-3000\n" },
	{ "garbage after the end", EVENTS(OP("a", "1", "2")) " junk",
	  "op 'a' thread2 0-2000\nfact loss.garbage_bytes=4\n" },
	{ "losses of an export",
	  "{\"traceEvents\":[" OP("a", "1", "2") "],\"tidemark\":{\"loss.events\":3,"
						 "\"loss.truncated_at\":7}}",
	  "op 'a' thread2 0-2000\nfact loss.events=3\nfact loss.truncated_at=7\n" },
	{ "events that are no objects", EVENTS("1,\"x\",null," OP("a", "1", "2") ",[{}]"),
	  "op 'a' thread2 0-2000\nfact loss.events_not_objects=4\n" },
	{ "commas too many and too few", EVENTS("," OP("a", "1", "2") OP("b", "4", "2") ",,"),
	  "op 'a' thread2 0-2000\nop 'b' thread2 3000-5000\n" },
	{ "empty", "", "error 3 at 0: not JSON: the file is empty\n" },
	{ "text", "hello", "error 3 at 0: not JSON: no object or array\n" },
	{ "truncated in the first event", "{\"traceEvents\":[{\"ph\":\"X\"",
	  "error 4 at 16: no event is complete\n" },
	{ "truncated later", "{\"traceEvents\":[" OP("a", "1", "2") ",{\"ph\":",
	  "op 'a' thread2 0-2000\nfact loss.truncated_at=90\n" },
	{ "truncated between", "{\"traceEvents\":[" OP("a", "1", "2"),
	  "op 'a' thread2 0-2000\nfact loss.truncated_at=83\n" },

	/* XLA: devices are processes, found by their names at the end */
	{ "GPU of XLA: streams hold the work, other lines repeat it",
	  EVENTS(XLA_NAMES("/device:GPU:1", "Stream #14(Kernel)") "," XLA("701", "9", "cuLaunchKernel", "1", "1", "\"correlation_id\":\"5\"") "," XLA(
		  "1", "3", "fusion", "2", "4",
		  "\"correlation_id\":\"5\"") "," XLA("1", "3", "MemcpyD2D", "7", "1",
						      "\"memcpy_details\":\"kind:x size:4096 dest:0\"") "," XLA("1",
														"4",
														"fusion.1",
														"2",
														"4",
														"") ",{}"),
	  "runtime 'cuLaunchKernel' thread9 0-1000\n"
	  "gpu_user_annotation 'fusion.1' stream-4 1000-5000\n"
	  "kernel 'fusion' stream14 1000-5000 by 'cuLaunchKernel'\n"
	  "memcpy 'MemcpyD2D' stream14 6000-7000\n"
	  "attr bytes=4096\n" },
	{ "TPU of XLA: a row that contains others is no work",
	  EVENTS(XLA_NAMES("/device:TPU:0", "XLA Modules") "," XLA(
		  "1", "3", "jit_f(1)", "0", "10", "") "," XLA("1", "4", "while.1", "0", "8",
							       "") "," XLA("1", "4", "fusion", "1",
									   "3", "")),
	  "gpu_user_annotation 'jit_f(1)' stream3 0-10000\n"
	  "gpu_user_annotation 'while.1' stream4 0-8000\n"
	  "kernel 'fusion' stream4 1000-4000 in 'while.1'\n" },
	{ "XLA on the host alone has no device",
	  EVENTS(XLA_NAMES("/host:CPU", "x") "," XLA("1", "3", "dot", "0", "1", "")),
	  "other 'dot' thread3 0-1000\n" },

	/* time */
	{ "decimals past a double's",
	  EVENTS(OP("a", "1712195495502094.500", "0.001") "," OP("b", "1712195495502094.501",
								 "0.25")),
	  "op 'a' thread2 0-1\nop 'b' thread2 1-251\n" },
	{ "more than three decimals round half to even",
	  EVENTS(OP("a", "0", "1.0005") "," OP("b", "0", "1.0015") "," OP("c", "0", "0.00050001")),
	  "op 'b' thread2 0-1002\nop 'a' thread2 0-1000 in 'b'\nop 'c' thread2 0-1 in 'a'\n" },
	{ "exponents and strings",
	  EVENTS(OP("a", "1e3", "2.5E-1") "," OP("b", "\"2000\"", "\"1.5\"")),
	  "op 'a' thread2 0-250\nop 'b' thread2 1000000-1001500\n" },
	{ "negative start", EVENTS(OP("a", "-2", "1") "," OP("b", "0", "1")),
	  "op 'a' thread2 0-1000\nop 'b' thread2 2000-3000\n" },
	{ "bad durations",
	  EVENTS(OP("a", "1", "-1") "," OP("b", "1", "NaN") "," OP("c", "1", "null") "," OP(
		  "d", "1",
		  "7450000000000000") "," OP("e", "1",
					     "99999999999999999999") "," X("\"name\":\"f\",\"ts\":"
									   "1") "," OP("g", "1",
										       "0")),
	  "op 'g' thread2 0-0\nfact loss.missing_durations=1\nfact loss.bad_durations=2\n"
	  "fact loss.negative_durations=1\nfact loss.absurd_durations=2\n" },
	{ "bad starts",
	  EVENTS(OP("a", "null", "1") "," OP("b", "99999999999999999999", "1") "," X(
		  "\"name\":\"c\",\"dur\":1") "," OP("d", "5", "1")),
	  "op 'd' thread2 0-1000\nfact loss.bad_timestamps=3\n" },

	/* names */
	{ "escapes", EVENTS(OP("\\u00e9\\n\\\"\\ud83d\\ude00\\q\\/", "1", "2")),
	  "op '\xc3\xa9\n\"\xf0\x9f\x98\x80\\q/' thread2 0-2000\n" },
	{ "half a surrogate pair", EVENTS(OP("\\ud83d!", "1", "2")),
	  "op '\xed\xa0\xbd!' thread2 0-2000\n" },
	{ "control characters and bad UTF-8", EVENTS(OP("a\x01\n\t\xff\xc3", "1", "2")),
	  "op 'a\x01\n\t\xff\xc3' thread2 0-2000\n" },
	{ "brackets and commas inside names",
	  EVENTS(OP("}],{[\\\\", "1", "2") "," OP("b", "5", "1")),
	  "op '}],{[\\' thread2 0-2000\nop 'b' thread2 4000-5000\n" },
	{ "stray quotes lose one event",
	  EVENTS(OP("a", "1", "2") "," OP("x\"y", "1", "2") "," OP("b", "5", "1")),
	  "op 'a' thread2 0-2000\nop 'b' thread2 4000-5000\nfact loss.damaged_events=1\n" },
	{ "a stray quote inside arguments loses one event",
	  EVENTS(OP("a", "1", "2") "," X("\"name\":\"x\",\"ts\":1,\"dur\":1,\"args\":{\"s\":"
					 "\"a\"b\"}") "," OP("b", "5", "1") "," OP("c", "7", "1")),
	  "op 'a' thread2 0-2000\nop 'b' thread2 4000-5000\nop 'c' thread2 6000-7000\n"
	  "fact loss.damaged_events=1\n" },
	{ "duplicate keys: the last counts",
	  EVENTS(X("\"name\":\"a\",\"name\":\"b\",\"ts\":9,\"ts\":1,"
		   "\"dur\":1,\"cat\":\"x\",\"cat\":\"cpu_op\"")),
	  "op 'b' thread2 0-1000\n" },

	/* lanes and order */
	{ "threads by pid and tid, numbers or texts",
	  EVENTS("{\"ph\":\"X\",\"pid\":\"p\",\"tid\":\"t\",\"ts\":1,\"dur\":1,\"name\":\"a\"},"
		 "{\"ph\":\"X\",\"pid\":\"p\",\"tid\":\"7\",\"ts\":1,\"dur\":1,\"name\":\"b\"},"
		 "{\"ph\":\"X\",\"pid\":\"p\",\"tid\":7,\"ts\":1,\"dur\":1,\"name\":\"c\"},"
		 "{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"name\":\"d\"}"),
	  "other 'a' thread-1 0-1000\nother 'b' thread7 0-1000\nother 'c' thread7 0-1000 in 'b'\n"
	  "other 'd' thread0 0-1000\n" },
	{ "not sorted; longer first; by category at a tie",
	  EVENTS(OP("in", "2", "1") "," OP("out", "1", "9") "," RUN("r", "1", "9", "") "," X(
		  "\"cat\":\"user_annotation\",\"name\":\"u\",\"ts\":1,\"dur\":9")),
	  "user_annotation 'u' thread2 0-9000\nop 'out' thread2 0-9000 in 'u'\n"
	  "runtime 'r' thread2 0-9000 in 'out'\nop 'in' thread2 1000-2000 in 'r'\n" },
	{ "partial overlap is not nesting",
	  EVENTS(OP("a", "0", "10") "," OP("b", "5", "10") "," OP("c", "6", "2")),
	  "op 'a' thread2 0-10000\nop 'b' thread2 5000-15000\nop 'c' thread2 6000-8000 in 'b'\n" },
	{ "nothing at the end of something follows it",
	  EVENTS(OP("p", "0", "9") "," OP("a", "0", "5") "," OP("b", "5", "0")),
	  "op 'p' thread2 0-9000\nop 'a' thread2 0-5000 in 'p'\nop 'b' thread2 5000-5000 in "
	  "'p'\n" },

	/* links */
	{ "launch by correlation; graph launch",
	  EVENTS(GPU("kernel", "k", "9", "1",
		     "\"correlation\":5,\"stream\":7,\"device\":0") "," RUN("cudaGraphLaunch", "1",
									    "1",
									    "\"correlation\":"
									    "5") "," GPU("gpu_"
											 "mems"
											 "et",
											 "m", "11",
											 "1",
											 "\"co"
											 "rrel"
											 "atio"
											 "n\":"
											 "\"5"
											 "\","
											 "\"st"
											 "ream"
											 "\":"
											 "\"7"
											 "\","
											 "\"by"
											 "tes"
											 "\":"
											 "6"
											 "4")),
	  "runtime 'cudaGraphLaunch' thread2 0-1000\n"
	  "kernel 'k' stream7 8000-9000 by 'cudaGraphLaunch'\n"
	  "memset 'm' stream7 10000-11000 by 'cudaGraphLaunch'\nattr bytes=64\n" },
	{ "old names and lanes",
	  EVENTS("{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"k\",\"pid\":0,\"tid\":\"stream "
		 "7\",\"ts\":5,"
		 "\"dur\":1,\"args\":{\"correlation\":1}},"
		 "{\"ph\":\"X\",\"cat\":\"Runtime\",\"name\":\"r\",\"pid\":9,\"tid\":\"25738\","
		 "\"ts\":1,"
		 "\"dur\":1,\"args\":{\"correlation\":1}}"),
	  "runtime 'r' thread25738 0-1000\nkernel 'k' stream7 4000-5000 by 'r'\n" },
	{ "a cpu_op with a stream stays on the CPU",
	  EVENTS(X("\"cat\":\"cpu_op\",\"name\":\"t\",\"ts\":1,\"dur\":1,\"args\":{\"stream\":"
		   "615352160,"
		   "\"correlation\":1}")),
	  "op 't' thread2 0-1000\n" },
	{ "External id only where the launch does not tell",
	  EVENTS(X("\"cat\":\"cpu_op\",\"name\":\"o\",\"ts\":0,\"dur\":9,\"args\":{\"External "
		   "id\":3}") "," RUN("l", "1", "1",
				      "\"correlation\":5") "," GPU("kernel", "k", "20", "1",
								   "\"correlation\":5,\"External "
								   "id\":3") "," GPU("kernel",
										     "early", "1",
										     "1",
										     "\"correlation"
										     "\":4,"
										     "\"External "
										     "id\":3")),
	  "op 'o' thread2 0-9000\nruntime 'l' thread2 1000-2000 in 'o'\n"
	  "kernel 'early' stream7 1000-2000\nkernel 'k' stream7 20000-21000 by 'l'\n"
	  "flow launch 'o' 'early'\n" },
	{ "ids over 32 bits",
	  EVENTS(RUN("l", "1", "1", "\"correlation\":18446744073709551610") "," RUN(
		  "n", "1", "1",
		  "\"correlation\":4294967296") "," GPU("kernel", "k", "2", "1",
							"\"correlation\":4294967296")),
	  "runtime 'l' thread2 0-1000\nruntime 'n' thread2 0-1000 in 'l'\n"
	  "kernel 'k' stream7 1000-2000 by 'n'\n" },
	{ "numbers over 64 bits",
	  EVENTS(RUN("l", "1", "1", "\"correlation\":99999999999999999999999")),
	  "runtime 'l' thread2 0-1000\nfact loss.numbers_over_64_bits=1\n" },
	{ "forward and backward by flow events",
	  EVENTS(OP("f", "1", "5") "," OP(
		  "b", "10",
		  "5") ","
		       "{\"ph\":\"f\",\"id\":4,\"pid\":1,\"tid\":2,\"ts\":10,\"cat\":\"fwdbwd\","
		       "\"bp\":\"e\"},"
		       "{\"ph\":\"s\",\"id\":4,\"pid\":1,\"tid\":2,\"ts\":1,\"cat\":\"fwdbwd\"},"
		       "{\"ph\":\"s\",\"id\":4,\"pid\":1,\"tid\":2,\"ts\":1,\"cat\":\"ac2g\"}"),
	  "op 'f' thread2 0-5000\nop 'b' thread2 9000-14000\nflow fwdbwd 'f' 'b'\n" },
	{ "forward and backward by Sequence number",
	  EVENTS(X("\"cat\":\"cpu_op\",\"name\":\"f\",\"ts\":1,\"dur\":5,\"args\":{\"Sequence "
		   "number\":8}") "," X("\"cat\":\"cpu_op\",\"name\":\"autograd::engine::evaluate_"
					"function: b\",\"ts\":10,"
					"\"dur\":5,\"args\":{\"Sequence number\":8,\"Fwd thread "
					"id\":1}") "," X("\"cat\":\"cpu_op\",\"name\":\"b\",\"ts\":"
							 "11,\"dur\":2,\"args\":{\"Fwd thread "
							 "id\":1,"
							 "\"Sequence number\":8}")),
	  "op 'f' thread2 0-5000\nop 'autograd::engine::evaluate_function: b' thread2 9000-14000\n"
	  "op 'b' thread2 10000-12000 in 'autograd::engine::evaluate_function: b'\n"
	  "flow fwdbwd 'f' 'b'\n" },
	{ "forward after its backward in the file",
	  EVENTS(X("\"cat\":\"cpu_op\",\"name\":\"b\",\"ts\":11,\"dur\":2,\"args\":{\"Fwd thread "
		   "id\":1,\"Sequence number\":8}") "," X("\"cat\":\"cpu_op\",\"name\":\"f\","
							  "\"ts\":1,"
							  "\"dur\":5,\"args\":{\"Sequence "
							  "number\":8}")),
	  "op 'f' thread2 0-5000\nop 'b' thread2 10000-12000\nflow fwdbwd 'f' 'b'\n" },
	{ "sync rows wait for a record",
	  EVENTS(RUN("cudaEventRecord", "1", "1", "\"correlation\":5") "," RUN(
		  "cudaStreamWaitEvent", "2", "1",
		  "\"correlation\":6") "," GPU("cuda_sync", "Stream Wait Event", "3", "0",
					       "\"cuda_sync_kind\":\"Stream Wait "
					       "Event\",\"stream\":20,\"device\":0,\"correlation\":"
					       "6,"
					       "\"wait_on_stream\":7,\"wait_on_cuda_event_record_"
					       "corr_id\":5")),
	  "runtime 'cudaEventRecord' thread2 0-1000\nruntime 'cudaStreamWaitEvent' thread2 "
	  "1000-2000\n"
	  "sync 'Stream Wait Event' other20 2000-2000 by 'cudaStreamWaitEvent'\n"
	  "flow wait 'cudaEventRecord' 'Stream Wait Event'\n"
	  "attr cuda_sync_kind=Stream Wait Event0\nattr stream=20\nattr wait_on_stream=7\n"
	  "attr wait_on_cuda_event_record_corr_id=5\n" },
	{ "collective arguments only beside their name",
	  EVENTS(GPU("kernel", "nccl", "1", "1",
		     "\"dtype\":\"Float\",\"Collective name\":\"allreduce\","
		     "\"Group size\":8") "," GPU("kernel", "k", "3", "1", "\"dtype\":\"Float\"")),
	  "kernel 'nccl' stream7 0-1000\nkernel 'k' stream7 2000-3000\nattr dtype=Float0\n"
	  "attr Collective name=allreduce0\nattr Group size=8\n" },
	{ "arguments before phase and category",
	  EVENTS("{\"args\":{\"correlation\":5,\"stream\":9,\"device\":1},\"ts\":2,\"dur\":1,"
		 "\"pid\":1,"
		 "\"name\":\"k\",\"cat\":\"kernel\",\"ph\":\"X\"}," RUN("l", "1", "1",
									"\"correlation\":5")),
	  "runtime 'l' thread2 0-1000\nkernel 'k' stream9 1000-2000 by 'l'\n" },
	{ "the window's own row is no span",
	  EVENTS(OP("a", "1",
		    "2") ",{\"ph\":\"X\",\"cat\":\"Trace\",\"pid\":\"Spans\",\"ts\":0,\"dur\":99}"),
	  "op 'a' thread2 0-2000\n"
	  "fact kineto.window.0=-1000 99000 -1 0\n" },
	{ "profiler ranges keep all their values",
	  EVENTS(X("\"cat\":\"cuda_profiler_range\",\"name\":\"r\",\"ts\":1,\"dur\":1,\"args\":{"
		   "\"m1\":3,"
		   "\"m2\":2.5}")),
	  "profiler_range 'r' other2 0-1000\nattr m1=3\nattr m2=2.50\n" },

	/* memory */
	{ "allocations pair, whatever the order of events",
	  EVENTS(MEM("5", "-100", "4096", "0") "," MEM("1", "100", "4096", "100")),
	  "alloc 100 at 4096 t0 f0\nfree 100 at 4096 t4000 f0\nsample Total Allocated 100 t0\n"
	  "sample Total Allocated 0 t4000\n" },
	{ "what was there before",
	  EVENTS(MEM("1", "100", "4096", "350") "," MEM("2", "-50", "8192", "300")),
	  "alloc 50 at 8192 t0 f1\nalloc 200 at 0 t0 f1\nalloc 100 at 4096 t0 f0\n"
	  "free 50 at 8192 t1000 f1\nsample Total Allocated 350 t0\n"
	  "sample Total Allocated 300 t1000\nfact kineto.frees_of_earlier_memory=1\n" },
	{ "an address taken again implies its free; an overlap is marked",
	  EVENTS(MEM("1", "100", "4096", "100") "," MEM("2", "60", "4096",
							"60") "," MEM("3", "8", "4100", "68")),
	  "alloc 100 at 4096 t0 f4\nfree 100 at 4096 t1000 f4\nalloc 60 at 4096 t1000 f0\n"
	  "alloc 8 at 4100 t2000 f2\nsample Total Allocated 100 t0\nsample Total Allocated 60 "
	  "t1000\n"
	  "sample Total Allocated 68 t2000\nfact loss.frees_missing=1\n"
	  "fact loss.alloc_overlaps=1\n" },
	{ "memory without addresses is a running sum",
	  EVENTS("{\"ph\":\"i\",\"name\":\"[memory]\",\"ts\":1,\"args\":{\"Bytes\":5,\"Device "
		 "Type\":0}},"
		 "{\"ph\":\"i\",\"name\":\"[memory]\",\"ts\":2,\"args\":{\"Bytes\":-2,\"Device "
		 "Type\":0}},"
		 "{\"ph\":\"i\",\"name\":\"[memory]\",\"ts\":2,\"args\":{}}"),
	  "sample Bytes since the trace's start 5 t0\nsample Bytes since the trace's start 3 "
	  "t1000\n"
	  "fact loss.bad_memory_events=1\n" },
	{ "no device has that much memory",
	  EVENTS("{\"ph\":\"i\",\"name\":\"[memory]\",\"ts\":1,\"args\":{\"Bytes\":"
		 "281474976710655,\"Device Type\":0}},"
		 "{\"ph\":\"i\",\"name\":\"[memory]\",\"ts\":2,\"args\":{\"Bytes\":"
		 "281474976710656,\"Device Type\":0}},"
		 "{\"ph\":\"i\",\"name\":\"[memory]\",\"ts\":3,\"args\":{\"Bytes\":"
		 "-281474976710656,\"Device Type\":0}}"),
	  "sample Bytes since the trace's start 2.81475e+14 t0\n"
	  "fact loss.bad_memory_events=2\n" },

	/* Python calls without an end */
	{ "a Python call ends with its caller at the latest",
	  EVENTS(PY("main", "0", "100", "1", "null") "," PY("enter", "10", "20", "2", "1") "," PY(
		  "next", "12", "88", "3",
		  "2") "," PY("gen", "13", "87", "4",
			      "3") "," OP("mul", "40", "20") "," RUN("launch", "50", "5",
								     "\"correlation\":1")),
	  "python_function 'main' thread2 0-100000\n"
	  "python_function 'enter' thread2 10000-30000 in 'main'\n"
	  "python_function 'next' thread2 12000-30000 in 'enter'\n"
	  "python_function 'gen' thread2 13000-30000 in 'next'\n"
	  "op 'mul' thread2 40000-60000 in 'main'\nruntime 'launch' thread2 50000-55000 in 'mul'\n"
	  "fact loss.python_calls_cut=2\n" },
	{ "callers that contradict their calls cut nothing",
	  EVENTS(PY("other", "50", "10", "9", "7") "," PY("late", "20", "30", "7", "8") "," PY(
		  "early", "0", "10", "8", "7") "," PY("nobody", "61", "9", "10",
						       "77") "," PY("self", "80", "9", "11",
								    "11") "," PY("below 0", "90",
										 "9", "-1", "-1")),
	  "python_function 'early' thread2 0-10000\npython_function 'late' thread2 20000-50000\n"
	  "python_function 'other' thread2 50000-60000\n"
	  "python_function 'nobody' thread2 61000-70000\n"
	  "python_function 'self' thread2 80000-89000\n"
	  "python_function 'below 0' thread2 90000-99000\n" },

	/* what other writers use */
	{ "counters",
	  EVENTS("{\"ph\":\"C\",\"name\":\"c\",\"ts\":1,\"args\":{\"a\":1.5,\"b\":\"x\"}},"
		 "{\"ph\":\"C\",\"name\":\"d\",\"ts\":3,\"args\":{\"a\":1,\"b\":2}}"),
	  "sample c 1.5 t0\nsample d.a 1 t2000\nsample d.b 2 t2000\nfact "
	  "loss.bad_counter_values=1\n" },
	{ "begin and end",
	  EVENTS("{\"ph\":\"B\",\"pid\":1,\"tid\":2,\"ts\":1,\"name\":\"a\"},"
		 "{\"ph\":\"B\",\"pid\":1,\"tid\":2,\"ts\":2,\"name\":\"b\"},"
		 "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":4},{\"ph\":\"E\",\"pid\":1,\"tid\":2,"
		 "\"ts\":9},"
		 "{\"ph\":\"E\",\"pid\":1,\"tid\":3,\"ts\":9},{\"ph\":\"B\",\"pid\":1,\"tid\":3,"
		 "\"ts\":5}"),
	  "other 'a' thread2 0-8000\nother 'b' thread2 1000-3000 in 'a'\nother '' thread3 "
	  "4000-8000\n" },
	{ "begin without end, end without begin",
	  EVENTS("{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":1},{\"ph\":\"B\",\"pid\":1,\"tid\":2,"
		 "\"ts\":5,"
		 "\"name\":\"b\"}," OP("a", "1", "9")),
	  "op 'a' thread2 0-9000\nother 'b' thread2 4000-9000 in 'a'\nfact "
	  "loss.ends_without_begin=1\n"
	  "fact loss.begins_without_end=1\n" },
	{ "async",
	  EVENTS("{\"ph\":\"b\",\"cat\":\"net\",\"id\":\"0x1\",\"pid\":1,\"ts\":1,\"name\":\"q\"},"
		 "{\"ph\":\"n\",\"cat\":\"net\",\"id\":1,\"pid\":1,\"ts\":2,\"name\":\"step\"},"
		 "{\"ph\":\"b\",\"cat\":\"net\",\"id\":2,\"pid\":1,\"ts\":2,\"name\":\"q\"},"
		 "{\"ph\":\"e\",\"cat\":\"net\",\"id\":1,\"pid\":1,\"ts\":4,\"name\":\"q\"},"
		 "{\"ph\":\"e\",\"cat\":\"net\",\"id\":2,\"pid\":1,\"ts\":7,\"name\":\"q\"}"),
	  "other 'q' other-1 0-3000\nother 'q' other-1 1000-6000\nmark 'step' t1000\n" },
	{ "unknown phases are counted",
	  EVENTS("{\"ph\":\"?\"},{\"ph\":\"XX\"},{\"ph\":7},{\"ts\":1},{}," OP("a", "1", "2")),
	  "op 'a' thread2 0-2000\nfact loss.events_without_phase=1\n"
	  "fact loss.events_of_unknown_phase=3\n" },
};

static int failures;

static void check_row(const struct row *r, const char *text, size_t n, size_t block)
{
	static char got[1 << 16];
	tide_model *m;
	tide_error err = { 0 };
	tide_code rc = load(text, n, block, 1, &m, &err);
	if (rc == TIDE_OK) {
		assert_int_equal(tide__model_check(m, &err), TIDE_OK);
		describe(m, got, sizeof got);
	} else {
		snprintf(got, sizeof got, "error %d at %lld: %s\n", rc, (long long)err.offset,
			 err.text);
	}
	tide__model_free(m);
	if (strcmp(got, r->want)) {
		print_error("%s (blocks of %zu) gives:\n%s", r->name, block, got);
		failures++;
	}
}

static void test_rows(void **state)
{
	static const size_t blocks[] = { 0, 7, 64, 300 };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++)
			check_row(&rows[i], rows[i].text, strlen(rows[i].text), blocks[k]);
	assert_int_equal(failures, 0);
}

/* ---- damage everywhere ---- */

static const char sample[] =
	"\n{\"schemaVersion\": 1,\n \"deviceProperties\": [{\"id\": 0, \"name\": \"D\", "
	"\"totalGlobalMem\": 1000000}],\n \"distributedInfo\": {\"rank\": 1, "
	"\"world_size\": 2},\n"
	"\"traceEvents\": [\n" X(
		"\"cat\":\"cpu_op\",\"name\":\"o\\u0041\",\"ts\":0.5,\"dur\":9,"
		"\"args\":{\"External id\":3,\"Input Dims\":[[1,2],[]],\"Sequence "
		"number\":4}") ",\n" RUN("launch", "1", "1",
					 "\"correlation\":5") ",\n" GPU("kernel", "k", "20", "1.25",
									"\"correlat"
									"ion\":5,"
									"\"External"
									" id\":3,"
									"\"device\""
									":0,"
									"\"stream\""
									":7") ","
									      "\n" GPU("gpu_memcpy", "c", "22", "1", "\"bytes\":64,\"memory bandwidth (GB/s)\":0.5") ",\n" MEM(
										      "5", "100",
										      "4096",
										      "300") ","
											     "\n" MEM("6", "-100", "4096", "200") ",\n" MEM(
												     "7",
												     "-50",
												     "8192",
												     "150") ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":2,\"args\":{\"name\":\"main\"}}"
													    ",\n{\"ph\":\"s\",\"id\":4,\"pid\":1,\"tid\":2,\"ts\":1,\"cat\":\"fwdbwd\"}"
													    ",\n{\"ph\":\"B\",\"pid\":1,\"tid\":3,\"ts\":1,\"name\":\"b\"}"
													    ",\n{\"ph\":\"C\",\"name\":\"c\",\"ts\":3,\"args\":{\"a\":1}}],\n"
													    "\"baseTimeNanoseconds\": 1700000000000000000, \"traceName\": \"t\"}\n";

/* The model's description, or the error's; `got` has room for 1 << 16 bytes. */
static tide_code outcome(const char *text, size_t n, size_t block, unsigned threads, char *got)
{
	tide_model *m;
	tide_error err = { 0 };
	tide_code rc = load(text, n, block, threads, &m, &err);
	if (rc == TIDE_OK) {
		if (tide__model_check(m, &err) != TIDE_OK)
			fail_msg("%zu bytes: %s", n, err.text);
		describe(m, got, 1 << 16);
	} else {
		assert_true(err.text[0] && !strchr(err.text, '\n'));
		snprintf(got, 1 << 16, "error %d at %lld: %s\n", rc, (long long)err.offset,
			 err.text);
	}
	tide__model_free(m);
	return rc;
}

static char got_a[1 << 16], got_b[1 << 16];

static void test_truncation(void **state)
{
	size_t n = sizeof sample - 1;
	for (size_t i = 0; i < n - 1; i++) {
		tide_code rc = outcome(sample, i, 0, 1, got_a);
		if (rc == TIDE_OK && !strstr(got_a, "loss.truncated_at"))
			fail_msg("cut at %zu: the loss is not told", i);
		outcome(sample, i, 50, 1, got_b);
		assert_string_equal(got_a, got_b);
	}
	assert_int_equal(outcome(sample, n, 0, 1, got_a), TIDE_OK);
	assert_null(strstr(got_a, "loss.truncated_at"));
}

static void test_bytes_changed(void **state)
{
	static const char with[] = { 0, '"', '{', '}', '[', ']', ',', '\\', '9', (char)0xff };
	char text[sizeof sample];
	for (size_t i = 0; i < sizeof sample - 1; i++)
		for (size_t k = 0; k < sizeof with; k++) {
			memcpy(text, sample, sizeof sample);
			text[i] = with[k];
			outcome(text, sizeof sample - 1, 0, 1, got_a);
			outcome(text, sizeof sample - 1, 61, 1, got_b);
			if (strcmp(got_a, got_b))
				fail_msg("byte %zu to %02x: blocks matter:\n%s---\n%s", i,
					 (unsigned char)with[k], got_a, got_b);
		}
}

/* Gzip of a text; owned. */
static char *pack(const char *text, size_t n, size_t *packed)
{
	struct isal_zstream z;
	size_t room = n + n / 8 + 1000;
	char *to = malloc(room);
	isal_deflate_stateless_init(&z);
	z.gzip_flag = IGZIP_GZIP;
	z.end_of_stream = 1;
	z.next_in = (uint8_t *)(uintptr_t)text;
	z.avail_in = (uint32_t)n;
	z.next_out = (uint8_t *)to;
	z.avail_out = (uint32_t)room;
	assert_int_equal(isal_deflate_stateless(&z), COMP_OK);
	*packed = room - z.avail_out;
	return to;
}

static void test_threads_agree(void **state)
{
	size_t n = 0, copies = 300, room = sizeof sample * copies;
	char *text = malloc(room);
	const char *from = strstr(sample, "[\n{") + 2, *to = strstr(sample, "],\n\"base");
	n += (size_t)snprintf(text, room, "{\"traceEvents\":[");
	for (size_t i = 0; i < copies; i++)
		n += (size_t)snprintf(text + n, room - n, "%s%.*s", i ? ",\n" : "",
				      (int)(to - from), from);
	n += (size_t)snprintf(text + n, room - n, "],\"x\":[{\"a\":1},{\"b\":2}]}");
	size_t packed = 0;
	char *gz = pack(text, n, &packed);
	for (size_t block = 100; block < 20000; block = block * 7 / 3) {
		outcome(text, n, 0, 1, got_a);
		for (unsigned threads = 1; threads < 5; threads++) {
			outcome(text, n, block, threads, got_b);
			assert_string_equal(got_a, got_b);
			outcome(gz, packed, block, threads, got_b);
			assert_string_equal(got_a, got_b);
		}
		outcome(gz, packed / 2, 0, 1, got_a); /* the data before the cut are valid */
		assert_non_null(strstr(got_a, "loss.compressed_input"));
		for (unsigned threads = 1; threads < 5; threads++) {
			outcome(gz, packed / 2, block, threads, got_b);
			assert_string_equal(got_a, got_b);
		}
	}
	free(gz);
	free(text);
}

static void test_exhaustion(void **state)
{
	for (unsigned threads = 1; threads < 3; threads++)
		for (uint64_t i = 1;; i++) {
			tide_model *m;
			tide_error err = { 0 };
			tide__mem_fail_at(i);
			tide_code rc = load(sample, sizeof sample - 1, 200, threads, &m, &err);
			bool reached = tide__mem_count() >= i;
			tide__mem_fail_at(0);
			tide__model_free(m);
			if (!reached) {
				assert_int_equal(rc, TIDE_OK);
				assert_true(i > 50);
				break;
			}
			if (rc != TIDE_OK)
				assert_int_equal(rc, TIDE_ENOMEM);
		}
}

static void test_deep_nesting(void **state)
{
	size_t depth = 300000, n = 0, room = 4 * depth + 1000;
	char *text = malloc(room);
	n += (size_t)snprintf(text, room, "{\"traceEvents\":[" OP("a", "1", "2") ",");
	n += (size_t)snprintf(text + n, room - n,
			      "{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"args\":{\"x\":");
	memset(text + n, '[', depth);
	memset(text + n + depth, ']', depth);
	n += 2 * depth;
	n += (size_t)snprintf(text + n, room - n, "}}]}");
	assert_int_equal(outcome(text, n, 0, 1, got_a), TIDE_OK);
	assert_string_equal(got_a, "op 'a' thread2 0-2000\nother '' thread0 0-1000\n");
	free(text);
}

/* Every span's arguments can be fetched again, by the byte where its event starts. */
static void test_fetch(void **state)
{
	char path[] = "/tmp/tide-kineto-XXXXXX", *text;
	int fd = mkstemp(path);
	size_t n = sizeof sample - 1, len;
	assert_true(fd >= 0 && write(fd, sample, n) == (ssize_t)n);
	close(fd);
	tide_model *m;
	tide_error err = { 0 };
	assert_int_equal(tide__load(path, NULL, &m, &err), TIDE_OK);
	assert_non_null(m->span_src);
	for (uint32_t i = 1; i < m->spans.n; i++) {
		assert_int_equal(
			tide__kineto_reread_args(path, m->span_src[i] - 1, &text, &len, &err),
			TIDE_OK);
		assert_int_equal(len, strlen(text));
		if (m->spans.cat[i] == TIDE_CAT_RUNTIME)
			assert_string_equal(text, "{\"correlation\":5}");
		else
			assert_true(text[0] == '{' && text[len - 1] == '}');
		tide__free(text);
	}
	assert_int_equal(tide__kineto_reread_args(path, 5, &text, &len, &err), TIDE_ENOTFOUND);
	assert_int_equal(tide__kineto_reread_args(path, 1 << 20, &text, &len, &err),
			 TIDE_ENOTFOUND);
	assert_null(text);
	tide__model_free(m);
	unlink(path);
}

/* Shapes are attributes only on request; long ones are replaced by their length. */
static void test_shapes(void **state)
{
	char path[] = "/tmp/kinetoXXXXXX", text[4000], many[1200];
	memset(many, 'x', sizeof many);
	int fd = mkstemp(path);
	int n = snprintf(
		text, sizeof text,
		"{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"mm\",\"pid\":1,"
		"\"tid\":1,"
		"\"ts\":1,\"dur\":9,\"args\":{\"Input Dims\":[[2, 3], []],\"grid\":[1],"
		"\"Concrete "
		"Inputs\":\"%.*s\"}},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,"
		"\"tid\":7,\"ts\":2,\"dur\":3,\"args\":{\"Input Dims\":[1],\"block\":[4,1,1],"
		"\"registers per thread\":32}}]}",
		(int)sizeof many, many);
	assert_int_equal(write(fd, text, (size_t)n), n);
	close(fd);
	static const struct {
		unsigned span;
		const char *key, *want;
	} wants[] = { { 1, "Input Dims", "[[2, 3], []]" },
		      { 1, "Concrete Inputs", "(1200 bytes)" },
		      { 1, "grid", NULL },
		      { 2, "block", "[4, 1, 1]" },
		      { 2, "registers per thread", "" },
		      { 2, "Input Dims", NULL } };
	static const unsigned whats[] = { 0, TIDE_WANT_SPANS, TIDE_WANT_SPANS | TIDE_WANT_LAUNCH,
					  TIDE_WANT_SPANS | TIDE_WANT_SHAPES };
	for (size_t w = 0; w < sizeof whats / sizeof *whats; w++) {
		tide_model *m = NULL;
		tide_load_options opt = { .what = whats[w] };
		unsigned what = whats[w] ? whats[w] : TIDE_WANT_LAUNCH;
		assert_int_equal(tide__load(path, &opt, &m, NULL), TIDE_OK);
		for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
			tide_span_id s = { wants[i].span };
			unsigned kind = wants[i].span == 2 ? TIDE_WANT_LAUNCH : TIDE_WANT_SHAPES;
			int64_t at = tide__attr_find(m, s, tide__intern(m, wants[i].key));
			if ((at >= 0) != (what & kind && wants[i].want))
				fail_msg("%s, what %u", wants[i].key, what);
			if (at >= 0)
				assert_string_equal(tide__text(m, m->attrs.text[at], NULL),
						    wants[i].want);
		}
		tide__model_free(m);
	}
	unlink(path);
}

/* An op that takes no time and comes before another at the same moment has only the allocations of
 * that moment. */
static void test_allocations_beside_an_instant(void **state)
{
	static const char text[] = EVENTS(OP("outer", "0", "9") "," OP("empty", "1", "0") "," OP(
		"add", "1", "5") "," MEM("1", "8", "16", "8") "," MEM("3", "8", "32", "16"));
	tide_load_options opt = { .what = TIDE_WANT_SPANS | TIDE_WANT_MEMORY };
	tide_source *src;
	tide_model *m = tide__model_new();
	assert_int_equal(tide__source_open_memory(text, sizeof text - 1, 0, &src, NULL), 0);
	assert_int_equal(tide__kineto_load(src, &opt, 0, m, NULL), TIDE_OK);
	assert_int_equal(m->allocs.n, 3);
	assert_string_equal(tide__text(m, m->spans.name[m->allocs.span[1].i], NULL), "empty");
	assert_string_equal(tide__text(m, m->spans.name[m->allocs.span[2].i], NULL), "add");
	tide__source_close(src);
	tide__model_free(m);
}

/* t = 0, its wall-clock time and the end are the same, whatever is loaded. */
static void test_window(void **state)
{
#define MEMORY(ts, bytes)                                                    \
	"{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":2,\"ts\":" ts \
	",\"args\":{\"Device Type\":1,\"Device Id\":0,\"Addr\":16," bytes "}}"
	static const char text[] = "{\"baseTimeNanoseconds\":7000,\"traceEvents\":[" X(
		"\"ts\":5,\"dur\":2,\"name\":\"op\",\"cat\":\"cpu_op\"") "," MEMORY("0",
										    "\"Bytes\":281474976710656") "," /* left out */
		MEMORY("2", "\"Bytes\":512") "," MEMORY("20", "\"Bytes\":-512") "]}";
#undef MEMORY
	static const unsigned what[] = { 0, TIDE_WANT_SPANS, TIDE_WANT_MEMORY,
					 TIDE_WANT_SPANS | TIDE_WANT_MEMORY };
	for (size_t i = 0; i < sizeof what / sizeof *what; i++)
		for (size_t block = 0; block <= 64; block += 64) {
			tide_load_options opt = { .what = what[i] };
			tide_source *src;
			tide_model *m = tide__model_new();
			assert_int_equal(
				tide__source_open_memory(text, sizeof text - 1, 0, &src, NULL), 0);
			assert_int_equal(tide__kineto_load(src, &opt, block, m, NULL), TIDE_OK);
			if (m->t_end != 18000 || m->wall0_ns != 9000 ||
			    (m->spans.n > 1 && m->spans.t0[1] != 3000))
				fail_msg("what %u, blocks of %zu: end %lld, wall %lld", what[i],
					 block, (long long)m->t_end, (long long)m->wall0_ns);
			tide__source_close(src);
			tide__model_free(m);
		}
}

/* The vector code and the plain code give the same model for every text. */
static void test_portable(void **state)
{
	outcome(sample, sizeof sample - 1, 0, 1, got_a);
	tide__jsonr_scan_portable(true);
	outcome(sample, sizeof sample - 1, 0, 1, got_b);
	tide__jsonr_scan_portable(false);
	assert_string_equal(got_a, got_b);
}

/* An absurd number of devices is refused; one fewer is read. */
static void test_devices(void **state)
{
	static const struct {
		int devices;
		tide_code want;
	} sizes[] = { { 4096, TIDE_OK }, { 4097, TIDE_ELIMIT } };
	for (size_t r = 0; r < sizeof sizes / sizeof *sizes; r++) {
		char path[] = "/tmp/tide-devices-XXXXXX";
		FILE *f = fdopen(mkstemp(path), "w");
		assert_non_null(f);
		fputs("{\"traceEvents\":[", f);
		for (int d = 0; d < sizes[r].devices; d++)
			fprintf(f,
				"%s{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]"
				"\","
				"\"pid\":1,\"tid\":1,\"ts\":%d,\"s\":\"t\",\"args\":{\"Bytes\":512,"
				"\"Addr\":%d,\"Device Type\":1,\"Device Id\":%d}}",
				d ? "," : "", d, 4096 * (d + 1), d);
		fputs("]}", f);
		assert_int_equal(fclose(f), 0);
		tide_model *m;
		tide_error err;
		assert_int_equal(tide__load(path, NULL, &m, &err), sizes[r].want);
		tide__model_free(m);
		unlink(path);
	}
}

/* Memory of the host is its heap, that of anything else DRAM. */
static void pools_by_device(void **state)
{
	static const char text[] = EVENTS(
		MEM("1", "100", "4096",
		    "100") ","
			   "{\"ph\":\"i\",\"name\":\"[memory]\",\"ts\":2,\"args\":{\"Bytes\":7,"
			   "\"Addr\":64,\"Device Type\":0,\"Device Id\":-1}}");
	tide_model *m;
	assert_int_equal(load(text, sizeof text - 1, 0, 1, &m, NULL), TIDE_OK);
	assert_int_equal(m->allocs.n, 3);
	for (uint32_t i = 1; i < 3; i++) {
		uint32_t pool = m->allocs.pool[i].i, device = m->pools.device[pool].i;
		bool host = m->allocs.size[i] == 7;
		assert_int_equal(m->pools.kind[pool], host ? TIDE_POOL_HEAP : TIDE_POOL_DRAM);
		assert_int_equal(m->devices.kind[device],
				 host ? TIDE_DEVICE_HOST : TIDE_DEVICE_CUDA);
	}
	tide__model_free(m);
}

/* Torch's device type 6 is HIP, whether or not memory is loaded. */
static void hip_by_device_type(void **state)
{
	static const char text[] = EVENTS(
		GPU("kernel", "k", "1", "5",
		    "\"device\":0,\"stream\":7") ",{\"ph\":\"i\",\"name\":\"[memory]\",\"ts\":2,"
						 "\"args\":{\"Bytes\":7,\"Addr\":64,"
						 "\"Device Type\":6,\"Device Id\":0}}");
	static const unsigned what[] = { 0, TIDE_WANT_SPANS, TIDE_WANT_SPANS | TIDE_WANT_MEMORY };
	for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
		tide_load_options opt = { .what = what[i] };
		tide_source *src;
		tide_model *m = tide__model_new();
		assert_int_equal(tide__source_open_memory(text, sizeof text - 1, 0, &src, NULL), 0);
		assert_int_equal(tide__kineto_load(src, &opt, 0, m, NULL), TIDE_OK);
		assert_int_equal(m->devices.n, 2);
		assert_int_equal(m->devices.kind[1], TIDE_DEVICE_HIP);
		tide__source_close(src);
		tide__model_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pools_by_device),
		cmocka_unit_test(hip_by_device_type),
		cmocka_unit_test(test_fetch),
		cmocka_unit_test(test_allocations_beside_an_instant),
		cmocka_unit_test(test_allocations_beside_an_instant),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_portable),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_truncation),
		cmocka_unit_test(test_bytes_changed),
		cmocka_unit_test(test_threads_agree),
		cmocka_unit_test(test_exhaustion),
		cmocka_unit_test(test_deep_nesting),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_devices),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
