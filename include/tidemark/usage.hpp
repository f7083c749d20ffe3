// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The memory usage tracker for C++11, header only over usage.h.
 *
 *     auto guard = tidemark::MemoryUsageTracker::begin_capture();   // ends and clears with its scope
 *     ...
 *     tidemark::MemoryUsageTracker::snapshot("MODEL_CREATION");
 *     tidemark::MemoryUsageTracker::end_capture("ITERATION_COMPLETE");
 *     tidemark::MemoryUsageTracker::print_memory_usage();
 *
 * or, in Tidemark's own style, a phase that ends with its scope:
 *
 *     { tidemark::phase forward("FORWARD_PASS"); ... }
 *
 * Errors are std::runtime_error. */
#ifndef TIDEMARK_USAGE_HPP
#define TIDEMARK_USAGE_HPP

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <tidemark/record.h>
#include <tidemark/usage.h>

namespace tidemark
{

/** Names the time while this object lives: makes a snapshot of a capture in progress, or ends a
 *  phase in a recording. */
class phase
{
public:
	explicit phase(std::string name) : name_(std::move(name))
	{
	}
	~phase()
	{
		if (!name_.empty() && tide_usage_snapshot(name_.c_str(), nullptr) != TIDE_OK)
			tide_mark(TIDE_PHASE, tide_intern(name_.c_str()), 0);
	}
	phase(const phase &) = delete;
	phase &operator=(const phase &) = delete;
	/** It ends without a name. */
	void release() noexcept
	{
		name_.clear();
	}

private:
	std::string name_;
};

class MemoryUsageTracker
{
public:
	enum RunMode { NORMAL = TIDE_USAGE_NORMAL, NO_DISPATCH = TIDE_USAGE_NO_DISPATCH };
	using Usage = tide_usage_figures;

	/** Ends the capture and forgets it when it goes. */
	class guard
	{
	public:
		guard() = default;
		~guard()
		{
			if (held_)
				clear();
		}
		guard(guard &&other) noexcept : held_(other.held_)
		{
			other.held_ = false;
		}
		guard(const guard &) = delete;
		guard &operator=(const guard &) = delete;
		/** Leave it to somebody else. */
		void release() noexcept
		{
			held_ = false;
		}

	private:
		bool held_ = true;
	};

	static guard begin_capture(RunMode mode = NORMAL, const char *path = nullptr)
	{
		tide_error e = tide_error();
		check(tide_usage_begin(static_cast<tide_usage_mode>(mode), path, &e), e);
		return guard();
	}
	static void snapshot(const std::string &name)
	{
		tide_error e = tide_error();
		check(tide_usage_snapshot(name.c_str(), &e), e);
	}
	static void end_capture(const std::string &name = "END_TRACE")
	{
		tide_error e = tide_error();
		check(tide_usage_end(name.c_str(), &e), e);
	}
	static void print_memory_usage(FILE *out = stdout)
	{
		tide_error e = tide_error();
		check(tide_usage_print(out, &e), e);
	}
	static void clear() noexcept
	{
		tide_usage_clear();
	}

	/** Figures of the one snapshot of that name. */
	static Usage get_memory_usage(const std::string &name)
	{
		Usage u;
		tide_error e = tide_error();
		check(tide_usage_get(name.c_str(), &u, &e), e);
		return u;
	}
	/** All of them, in order; names may repeat. */
	static std::vector<std::pair<std::string, Usage>> get_memory_usage_all()
	{
		std::vector<std::pair<std::string, Usage>> all;
		for (size_t k = 0, n = tide_usage_count(); k < n; k++) {
			const char *name;
			Usage u;
			tide_error e = tide_error();
			check(tide_usage_at(k, &name, &u, &e), e);
			all.emplace_back(name, u);
		}
		return all;
	}
	static Usage get_dram_usage(const std::string &name)
	{
		return get_memory_usage(name);
	}
	static Usage get_l1_usage(const std::string &name)
	{
		return get_memory_usage(name);
	}
	static std::vector<std::pair<std::string, Usage>> get_dram_usage_all()
	{
		return get_memory_usage_all();
	}
	static std::vector<std::pair<std::string, Usage>> get_l1_usage_all()
	{
		return get_memory_usage_all();
	}

private:
	static void check(tide_code code, const tide_error &e)
	{
		if (code != TIDE_OK)
			throw std::runtime_error(e.text);
	}
};

} // namespace tidemark

#endif
