/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_image: simulated processes within one process of the system
 *
 * The simulated processes share the heap. Each has a stack, and values of its
 * own for the global and thread-local variables of this program and of the
 * library. The values of the running process are in their places. Of the
 * others, an image has the blocks that differ from the values which all
 * processes start with. */
#ifndef WEFT_TEST_SIM_IMAGE_H
#define WEFT_TEST_SIM_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Creates the images of n processes, which start with the present values. Each
 * calls run(rank), which does not return, at the first switch to it. False,
 * with a message, if there is too little memory. */
bool sim_images_create(uint32_t n, void (*run)(uint32_t rank));

/* Continues process `to`, or the caller of the first switch if `to` is the
 * number of processes. Returns when another process switches back. */
void sim_image_switch(uint32_t to);

/* Frees the pages of the stack that the running process does not use now. */
void sim_image_trim(void);

#endif
