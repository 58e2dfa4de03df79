/* SPDX-License-Identifier: BSD-3-Clause */
/* quad: the 16-byte IEEE floating-point type
 *
 * This is the type of Fortran's real(16). On x86-64 and ppc64le, it differs
 * from long double. On arm64, riscv64 and loongarch64, long double is this
 * type. */
#ifndef WEFT_QUAD_H
#define WEFT_QUAD_H

#include <float.h>

#if defined(__SIZEOF_FLOAT128__) || defined(__FLOAT128__)
typedef __float128 weft_quad;
#elif LDBL_MANT_DIG == 113
typedef long double weft_quad;
#else
#error "this compiler has no IEEE floating-point number of 16 bytes"
#endif

#endif
