/* SPDX-License-Identifier: BSD-3-Clause */
/* thread_check: can any other thread of this process make MPI calls?
 *
 * Below MPI_THREAD_MULTIPLE no other thread makes a call while this thread is
 * in a call, because the application guarantees it. Sessions have
 * MPI_THREAD_MULTIPLE unless they request less, although most programs have one
 * thread. So the library counts the threads. A thread is a helper and makes no
 * calls if it was created while the library opened a fabric or the process
 * manager, or started a thread of its own, and the application had one thread
 * then. Every other thread may make calls. */
#ifndef WEFT_THREAD_CHECK_H
#define WEFT_THREAD_CHECK_H

#include <stdbool.h>

/* weft_thread_check_begin() is called before code that may start helper
 * threads. weft_thread_check_end() is called after it, with the result of the
 * first call. */
bool weft_thread_check_begin(void);
void weft_thread_check_end(bool began);

/* True if only the calling thread can make MPI calls. Reads /proc if several
 * threads are permitted. VCI's lock held. */
bool weft_thread_check_is_single(void);

#endif
