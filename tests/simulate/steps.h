// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Steps of a simulated process: one thread of the system plays all threads, in an order that a seed
 * decides.
 *
 * The recorder's own sources are compiled with this header in front and SIM_HOOKED defined. Every
 * atomic access and every call into the system is then a step, at which another task may run or the
 * process may be killed. Time, futexes, threads, keys and random bytes are simulated; files are
 * real. A futex wait ends only when it is woken or its time is over, so that a lost wake-up hangs
 * the simulation, which says so. A write goes page by page, in either order, so a kill may leave any
 * part of it. */
#ifndef TIDE_TESTS_STEPS_H
#define TIDE_TESTS_STEPS_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* One access to memory that others see, or one call into the system. */
void sim_step(void);

uint64_t sim_now(void);
int sim_clock_gettime(clockid_t id, struct timespec *ts);
long sim_syscall(long number, ...);
int sim_usleep(useconds_t us);
int sim_yield(void);
pid_t sim_getpid(void);
ssize_t sim_getrandom(void *buf, size_t n, unsigned flags);
int sim_allocate(int fd, off_t at, off_t n);
int sim_create(pthread_t *t, const pthread_attr_t *attr, void *(*body)(void *), void *arg);
int sim_tryjoin(pthread_t t, void **result);
int sim_setname(pthread_t t, const char *name);
int sim_key_create(pthread_key_t *key, void (*destructor)(void *));
int sim_setspecific(pthread_key_t key, const void *value);

#ifdef SIM_HOOKED
#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_load
#undef atomic_store
#define SIM_AFTER_STEP(call) \
	__extension__({      \
		sim_step();  \
		call;        \
	})
#define atomic_load_explicit(p, order)                 \
	__extension__({                                \
		__auto_type sim_p = (p);               \
		__typeof__((void)0, *sim_p) sim_v;     \
		sim_step();                            \
		__atomic_load(sim_p, &sim_v, (order)); \
		sim_v;                                 \
	})
#define atomic_store_explicit(p, v, order)               \
	__extension__({                                  \
		__auto_type sim_q = (p);                 \
		__typeof__((void)0, *sim_q) sim_w = (v); \
		sim_step();                              \
		__atomic_store(sim_q, &sim_w, (order));  \
	})
#define atomic_load(p)	   atomic_load_explicit(p, __ATOMIC_SEQ_CST)
#define atomic_store(p, v) atomic_store_explicit(p, v, __ATOMIC_SEQ_CST)
#undef atomic_fetch_add_explicit
#undef atomic_exchange_explicit
#define atomic_fetch_add_explicit(p, v, order) SIM_AFTER_STEP(__atomic_fetch_add(p, v, order))
#define atomic_exchange_explicit(p, v, order)  SIM_AFTER_STEP(__atomic_exchange_n(p, v, order))
#define __builtin_ia32_rdtsc()		       sim_now()
#define clock_gettime			       sim_clock_gettime
#define syscall				       sim_syscall
#define usleep				       sim_usleep
#define sched_yield			       sim_yield
#define getpid				       sim_getpid
#define getrandom			       sim_getrandom
#define posix_fallocate			       sim_allocate
#define pthread_create			       sim_create
#define pthread_tryjoin_np		       sim_tryjoin
#define pthread_setname_np		       sim_setname
#define pthread_key_create		       sim_key_create
#define pthread_setspecific		       sim_setspecific
#define rename(a, b)			       SIM_AFTER_STEP(rename(a, b))
#define unlink(a)			       SIM_AFTER_STEP(unlink(a))
#define link(a, b)			       SIM_AFTER_STEP(link(a, b))
#define ftruncate(f, n)			       SIM_AFTER_STEP(ftruncate(f, n))
#define stat(a, b)			       SIM_AFTER_STEP(stat(a, b))
#endif

/* ---- the simulation ---- */

typedef struct sim_options {
	uint64_t seed;
	uint64_t kill_at;	  /* step; UINT64_MAX = never */
	uint64_t disk;		  /* bytes that can be allocated */
	void (*signal)(int task); /* of a task of the program; NULL: no signals */
} sim_options;

enum { SIM_ENDED, SIM_KILLED, SIM_HUNG, SIM_ENDLESS };
/* Runs main_task and all tasks it makes until all have ended, or the process was killed. */
int sim_run(const sim_options *o, void (*main_task)(void));
/* Makes a thread of the program. Returns its number. */
int sim_spawn(void (*body)(int task));
bool sim_ended(int task);
/* The seed's random numbers; the second prefers small ones. */
uint32_t sim_below(uint32_t n);
uint64_t sim_small(uint64_t most);
uint64_t sim_steps(void);

#endif
