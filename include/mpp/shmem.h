/* SPDX-License-Identifier: BSD-3-Clause */
/* header: <shmem.h> under its old name, deprecated since OpenSHMEM 1.1 */
#include <shmem.h>
