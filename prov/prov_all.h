/* SPDX-License-Identifier: BSD-3-Clause */
/* prov_all: the entries by name, for the table */
#ifndef WEFT_PROV_ALL_H
#define WEFT_PROV_ALL_H

#include "net/prov.h"

extern const struct weft_prov weft_prov_cxi;
extern const struct weft_prov weft_prov_verbs;
extern const struct weft_prov weft_prov_tcp;
extern const struct weft_prov weft_prov_sockets;
extern const struct weft_prov weft_prov_shm;

#endif
