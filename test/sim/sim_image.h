/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_image: simulated processes within one process of the system
 *
 * The memory of the running process (sim_memory.h) is at its addresses, which
 * all processes share. Of each other process, an image has the words that
 * differ from a reference: a copy of the memory of some process at some time.
 */
#ifndef WEFT_TEST_SIM_IMAGE_H
#define WEFT_TEST_SIM_IMAGE_H

#include <stdint.h>

/* Creates the images of n processes, which start with the present values of the
 * variables. Each calls run(rank), which does not return, at the first switch
 * to it. Exits with a message if there is too little memory. */
void sim_images_create(uint32_t n, void (*run)(uint32_t rank));

/* Runs process `first`, and those that it switches to. Returns at the switch
 * to process n. */
void sim_images_run(uint32_t first);

/* Continues process `to`. Returns when another process switches back. */
void sim_image_switch(uint32_t to);

#endif
