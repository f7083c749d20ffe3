// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* RAII for record.h, C++11, header only: a recording, op or phase ends with its scope, also by an
 * exception.
 *
 *     #include <tidemark/tidemark.hpp>
 *
 *     int main()
 *     {
 *             tidemark::recording rec("run.tide");          // stops at the end of main
 *             tidemark::pool gpu(tidemark::device(TIDE_DEVICE_CUDA, 0, "H200"), TIDE_POOL_DRAM, "DRAM");
 *             TIDEMARK_OP("forward");                       // until the end of the block
 *             tidemark::block weights(gpu, address, bytes); // alloc now, free at the end
 *     }
 *
 * Nothing here throws but recording's constructor, and that only when asked to. */
#ifndef TIDEMARK_TIDEMARK_HPP
#define TIDEMARK_TIDEMARK_HPP

#include <stdexcept>
#include <string>

#include <tidemark/record.h>

namespace tidemark
{

/** A recording that lasts as long as this object. One at a time: a second one is inert. */
class recording
{
public:
	/** Reports no failure; check ok(). */
	explicit recording(const std::string &path, const tide_options *options = nullptr) noexcept
	{
		error_ = tide_error();
		started_ = tide_start(path.c_str(), options, &error_) == TIDE_OK;
	}
	/** The same, throwing std::runtime_error on failure. */
	struct or_throw {
	};
	recording(const std::string &path, or_throw, const tide_options *options = nullptr)
	    : recording(path, options)
	{
		if (!started_)
			throw std::runtime_error(error_.text);
	}
	~recording()
	{
		stop();
	}
	recording(const recording &) = delete;
	recording &operator=(const recording &) = delete;

	bool ok() const noexcept
	{
		return started_;
	}
	/** Why it did not start, or did not end well. */
	const tide_error &error() const noexcept
	{
		return error_;
	}
	/** End it before the scope does. */
	tide_code stop() noexcept
	{
		if (!started_)
			return TIDE_OK;
		started_ = false;
		return tide_stop(&error_);
	}

private:
	tide_error error_;
	bool started_;
};

/** An op that lasts as long as this object. */
class op
{
public:
	explicit op(tide_name name) noexcept : token_(tide_op_begin(name))
	{
	}
	op(tide_name name, uint64_t arg) noexcept : token_(tide_op_begin_arg(name, arg))
	{
	}
	/** A text of any lifetime: copied, which takes a lock. */
	explicit op(const std::string &name) noexcept
	    : token_(tide_op_begin(tide_intern(name.c_str())))
	{
	}
	~op()
	{
		end();
	}
	op(op &&other) noexcept : token_(other.token_)
	{
		other.token_ = 0;
	}
	op(const op &) = delete;
	op &operator=(const op &) = delete;

	/** End it before the scope does. */
	void end() noexcept
	{
		tide_op_end(token_);
		token_ = 0;
	}

private:
	tide_op token_;
};

/** Ids that are opened once and kept. */
class device
{
public:
	device(int kind, int index, const char *name = nullptr, uint64_t capacity = 0) noexcept
	    : id_(tide_device_open(kind, index, name, capacity))
	{
	}
	operator tide_device() const noexcept
	{
		return id_;
	}

private:
	tide_device id_;
};

class pool
{
public:
	pool(tide_device on, int kind, const char *name = nullptr, uint64_t capacity = 0) noexcept
	    : id_(tide_pool_open(on, kind, name, capacity))
	{
	}
	operator tide_pool() const noexcept
	{
		return id_;
	}

private:
	tide_pool id_;
};

/** Memory that is recorded as freed when this object ends. */
class block
{
public:
	block(tide_pool pool, uint64_t addr, uint64_t size, tide_stream stream = 0) noexcept
	    : addr_(addr), pool_(pool), live_(true)
	{
		tide_alloc(pool, addr, size, stream);
	}
	~block()
	{
		if (live_)
			tide_free(pool_, addr_);
	}
	block(block &&other) noexcept : addr_(other.addr_), pool_(other.pool_), live_(other.live_)
	{
		other.live_ = false;
	}
	block(const block &) = delete;
	block &operator=(const block &) = delete;

private:
	uint64_t addr_;
	tide_pool pool_;
	bool live_;
};

} // namespace tidemark

#define TIDEMARK_JOIN2(a, b) a##b
#define TIDEMARK_JOIN(a, b)  TIDEMARK_JOIN2(a, b)
/** An op named by a literal, until the end of the enclosing block. */
#define TIDEMARK_OP(literal) \
	::tidemark::op TIDEMARK_JOIN(tidemark_op_, __LINE__)(TIDE_NAME(literal))

#endif
