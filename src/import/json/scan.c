// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Builds the bit maps 64 bytes at a time, with AVX2 if the machine has it, else in plain C. Both
 * share one body; only the comparison of 64 bytes differs. */
#include "import/json/scan.h"

#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define HAVE_AVX2 1
#endif

typedef struct block {
	uint64_t quote, slash, open, close, comma;
} block;

/* Returns the bits of characters that a backslash escapes; *carry is 1 if the first one is
 * escaped. */
static inline uint64_t escaped_bits(uint64_t slash, uint64_t *carry)
{
	uint64_t out = 0;
	slash &= ~*carry;
	out |= *carry;
	*carry = 0;
	while (slash) { /* rare: one iteration per escaping backslash */
		unsigned i = (unsigned)__builtin_ctzll(slash);
		if (i == 63) {
			*carry = 1;
			break;
		}
		out |= UINT64_C(2) << i;
		slash &= ~(UINT64_C(3) << i);
	}
	return out;
}

static inline uint64_t prefix_xor(uint64_t x)
{
	x ^= x << 1;
	x ^= x << 2;
	x ^= x << 4;
	x ^= x << 8;
	x ^= x << 16;
	return x ^ (x << 32);
}

#define MAKE_WINDOW(name, attribute, classify, prefix)                                   \
	attribute static void name(jsonr_scan *s, const char *p, size_t from, size_t to) \
	{                                                                                \
		uint64_t in = s->in_string, carry = s->escaped;                          \
		for (size_t i = from; i < to; i++, p += 64) {                            \
			block k;                                                         \
			classify(p, &k);                                                 \
			if (__builtin_expect((k.slash | carry) != 0, 0)) {               \
				k.quote &= ~escaped_bits(k.slash, &carry);               \
				s->slashes = true;                                       \
			}                                                                \
			uint64_t inside = prefix(k.quote) ^ in;                          \
			in = (uint64_t)((int64_t)inside >> 63);                          \
			s->quotes[i] = k.quote;                                          \
			s->opens[i] = k.open & ~inside;                                  \
			s->closes[i] = k.close & ~inside;                                \
			s->commas[i] = k.comma & ~inside;                                \
		}                                                                        \
		s->in_string = in;                                                       \
		s->escaped = carry;                                                      \
	}

/* ---- plain C ---- */

static inline void classify_plain(const char *p, block *k)
{
	*k = (block){ 0 };
	for (unsigned i = 0; i < 64; i++) {
		uint64_t bit = UINT64_C(1) << i;
		char c = p[i];
		k->quote |= c == '"' ? bit : 0;
		k->slash |= c == '\\' ? bit : 0;
		k->comma |= c == ',' ? bit : 0;
		k->open |= c == '{' || c == '[' ? bit : 0;
		k->close |= c == '}' || c == ']' ? bit : 0;
	}
}

MAKE_WINDOW(window_plain, , classify_plain, prefix_xor)

/* ---- AVX2 ---- */

#if HAVE_AVX2
#define AVX2 __attribute__((target("avx2,pclmul,bmi")))

AVX2 static inline uint64_t bits(__m256i lo, __m256i hi)
{
	return (uint64_t)(uint32_t)_mm256_movemask_epi8(lo) |
	       (uint64_t)(uint32_t)_mm256_movemask_epi8(hi) << 32;
}

AVX2 static inline uint64_t equal(__m256i lo, __m256i hi, char c)
{
	__m256i v = _mm256_set1_epi8(c);
	return bits(_mm256_cmpeq_epi8(lo, v), _mm256_cmpeq_epi8(hi, v));
}

/* '[' | 0x20 is '{' and ']' | 0x20 is '}': two comparisons find four brackets. */
AVX2 static inline void classify_avx2(const char *p, block *k)
{
	__m256i lo = _mm256_loadu_si256((const __m256i *)(const void *)p);
	__m256i hi = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
	__m256i fold = _mm256_set1_epi8(0x20);
	k->quote = equal(lo, hi, '"');
	k->slash = equal(lo, hi, '\\');
	k->comma = equal(lo, hi, ',');
	lo = _mm256_or_si256(lo, fold);
	hi = _mm256_or_si256(hi, fold);
	k->open = equal(lo, hi, '{');
	k->close = equal(lo, hi, '}');
}

AVX2 static inline uint64_t prefix_clmul(uint64_t x)
{
	__m128i v = _mm_set_epi64x(0, (long long)x);
	return (uint64_t)_mm_cvtsi128_si64(_mm_clmulepi64_si128(v, _mm_set1_epi8(-1), 0));
}

MAKE_WINDOW(window_avx2, AVX2, classify_avx2, prefix_clmul)
#endif

#if HAVE_AVX2
#define AVX512 __attribute__((target("avx512bw,avx512vl,pclmul,bmi")))

AVX512 static inline void classify_avx512(const char *p, block *k)
{
	__m512i v = _mm512_loadu_si512((const void *)p);
	k->quote = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('"'));
	k->slash = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\\'));
	k->comma = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(','));
	v = _mm512_or_si512(v, _mm512_set1_epi8(0x20));
	k->open = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('{'));
	k->close = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('}'));
}

AVX512 static inline uint64_t prefix_clmul512(uint64_t x)
{
	__m128i v = _mm_set_epi64x(0, (long long)x);
	return (uint64_t)_mm_cvtsi128_si64(_mm_clmulepi64_si128(v, _mm_set1_epi8(-1), 0));
}

MAKE_WINDOW(window_avx512, AVX512, classify_avx512, prefix_clmul512)
#endif

static _Atomic bool portable_only;

void tide__jsonr_scan_portable(bool on)
{
	atomic_store(&portable_only, on);
}

static void window(jsonr_scan *s, const char *p, size_t from, size_t to)
{
#if HAVE_AVX2
	bool plain = atomic_load_explicit(&portable_only, memory_order_relaxed) ||
		     !__builtin_cpu_supports("pclmul");
	if (!plain && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
		window_avx512(s, p, from, to);
		return;
	}
	if (!plain && __builtin_cpu_supports("avx2")) {
		window_avx2(s, p, from, to);
		return;
	}
#endif
	window_plain(s, p, from, to);
}

bool tide__jsonr_scan_more(jsonr_scan *s)
{
	if (s->words >= s->total)
		return false;
	size_t to = s->words + JSONR_WINDOW < s->total ? s->words + JSONR_WINDOW : s->total;
	if (s->keep !=
	    ~UINT64_C(0)) { /* first word after a restart: bytes before it do not count */
		char part[64];
		size_t i = s->words;
		unsigned skip = (unsigned)__builtin_ctzll(s->keep);
		memcpy(part, s->b + (i << 6), sizeof part);
		memset(part, ' ', skip);
		window_plain(s, part, i, i + 1);
		s->keep = ~UINT64_C(0);
		s->words = i + 1;
		return true;
	}
	window(s, s->b + (s->words << 6), s->words, to);
	s->words = to;
	return true;
}

void tide__jsonr_scan_restart(jsonr_scan *s, size_t p)
{
	s->words = p >> 6;
	s->keep = ~UINT64_C(0) << (p & 63);
	s->in_string = 0;
	s->escaped = 0;
}

bool tide__jsonr_scan_text(jsonr_scan *s, const char *text, size_t n)
{
	size_t total = n / 64 + 1;
	if (total > s->cap) {
		tide__jsonr_scan_fini(s);
		size_t room = total + 1;
		s->quotes = tide__alloc(room * 4, sizeof *s->quotes);
		if (!s->quotes)
			return false;
		s->opens = s->quotes + room;
		s->closes = s->opens + room;
		s->commas = s->closes + room;
		s->cap = total;
	}
	s->quotes[total] = s->opens[total] = s->closes[total] = s->commas[total] = 0;
	s->slashes = false;
	s->b = text;
	s->n = n;
	s->total = total;
	tide__jsonr_scan_restart(s, 0);
	return true;
}

void tide__jsonr_scan_fini(jsonr_scan *s)
{
	tide__free(s->quotes);
	*s = (jsonr_scan){ 0 };
}

size_t tide__jsonr_far_quote(jsonr_scan *s, size_t p)
{
	size_t i = p >> 6;
	uint64_t from = ~UINT64_C(0) << (p & 63);
	for (; i << 6 < s->n; i++, from = ~UINT64_C(0)) {
		if (i >= s->words && !tide__jsonr_scan_more(s))
			break;
		if (s->quotes[i] & from)
			return (i << 6) + (size_t)__builtin_ctzll(s->quotes[i] & from);
	}
	return s->n;
}

static unsigned ones(uint64_t x)
{
	unsigned n = 0;
	for (; x; x &= x - 1)
		n++;
	return n;
}

/* Depth is counted a word at a time; single bits are examined only in a word that could bring it
 * to zero. */
size_t tide__jsonr_scan_skip(jsonr_scan *s, size_t p)
{
	uint64_t from = ~UINT64_C(0) << (p & 63), depth = 0;
	if (!jsonr_is_open(s, p))
		return SIZE_MAX;
	for (size_t i = p >> 6; i << 6 < s->n; i++, from = ~UINT64_C(0)) {
		if (i >= s->words && !tide__jsonr_scan_more(s))
			break;
		uint64_t open = s->opens[i] & from, close = s->closes[i] & from;
		if (!(open | close))
			continue;
		if (depth > 64) {
			depth += ones(open);
			depth -= ones(close);
			continue;
		}
		for (uint64_t both = open | close; both; both &= both - 1) {
			uint64_t bit = both & -both;
			depth += open & bit ? 1 : (uint64_t)-1;
			if (depth == 0)
				return (i << 6) + (size_t)__builtin_ctzll(bit) + 1;
		}
	}
	return SIZE_MAX;
}
