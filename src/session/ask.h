/* SPDX-License-Identifier: BSD-3-Clause */
/* ask: what keeps those that a call waits for, asked, answered and said
 *
 * A wait that takes long asks each process it waits for; whoever is asked
 * answers from progress. With all answers, or half a second later, it is said
 * once who is missing and what they are in. */
#ifndef WEFT_ASK_H
#define WEFT_ASK_H

#include "core/dispatch.h"
#include "session/blocked.h"

/* Sets what a wait is called, for whoever asks. Its lane's lock held, here and
 * below. */
void weft_ask_describe(struct weft_blocked *blocked);

/* Asks all; has a report come. */
void weft_ask_start(struct weft_blocked *blocked);

/* Says it when it is due. */
void weft_ask_round(struct weft_blocked *blocked);

void weft_ask_end(struct weft_blocked *blocked);

weft_wire_fn weft_ask_on_ask, weft_ask_on_tell;

#endif
