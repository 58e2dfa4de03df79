/* SPDX-License-Identifier: BSD-3-Clause */
/* thread_check: can any other thread of this process make MPI calls?
 *
 * Below MPI_THREAD_MULTIPLE none can while this one is in a call: the
 * application promised. Sessions are granted that level unless they ask for
 * less, mostly by programs with one thread, so the threads are counted: those
 * that came into being while the library opened a fabric or the process
 * manager, with no other thread of the application there, are helpers and
 * make no calls. Any other is taken for one that may. */
#ifndef WEFT_THREAD_CHECK_H
#define WEFT_THREAD_CHECK_H

#include <stdbool.h>

/* Around whatever may start helper threads. What begin returned is handed to
 * end. Under the process lock or the VCI's. */
bool weft_thread_check_begin(void);
void weft_thread_check_end(bool began);

/* True when it is proven that no thread but the calling one can make MPI
 * calls. Costs a look into /proc where several threads are permitted. VCI's
 * lock held. */
bool weft_thread_check_is_single(void);

#endif
