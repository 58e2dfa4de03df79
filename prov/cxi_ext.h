/* SPDX-License-Identifier: BSD-3-Clause */
/* cxi_ext: extensions of the cxi provider, as numbers
 *
 * The provider declares these extensions in a header, which only a libfabric
 * with this provider installs. They are part of its binary interface, so this
 * file has the values; the build compares them if the header exists. */
#ifndef WEFT_CXI_EXT_H
#define WEFT_CXI_EXT_H

#include <rdma/fabric.h>

#include <stddef.h>
#include <stdint.h>

#if defined(__has_include)
#if __has_include(<rdma/fi_cxi_ext.h>)
#include <stdbool.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_cxi_ext.h>
#define WEFT_CXI_HAS_ORIGINAL 1
#endif
#endif

/* Flags of operations. HRP: a put at a high rate. UNRELIABLE: an atomic that is
 * transmitted once. WEAK_FENCE: an operation that follows all earlier ones of
 * its endpoint to the same target. PCIE_AMO: an atomic that the target's host
 * executes over PCIe. The library uses the first two; test/fake/cxi knows all.
 */
#define WEFT_CXI_HRP (1ull << 60)
#define WEFT_CXI_UNRELIABLE (1ull << 61)
#define WEFT_CXI_WEAK_FENCE (1ull << 63)
#define WEFT_CXI_PCIE_AMO (1ull << 57)

/* Names of fi_control(FI_SET_VAL). The class and the order belong to an
 * endpoint, the other values to a domain. */
enum {
	WEFT_CXI_SET_TCLASS = -(0xccc << 16), /* uint32_t */
	WEFT_CXI_SET_MSG_ORDER,		      /* uint64_t */
	WEFT_CXI_NIC_REFRESH_ATTR,
	WEFT_CXI_SET_MR_MATCH_EVENTS, /* bool */
	WEFT_CXI_GET_MR_MATCH_EVENTS,
	WEFT_CXI_SET_OPTIMIZED_MRS, /* bool */
	WEFT_CXI_GET_OPTIMIZED_MRS,
	WEFT_CXI_SET_PROV_KEY_CACHE, /* bool */
	WEFT_CXI_GET_PROV_KEY_CACHE,
};

enum {
	WEFT_CXI_PROTO = 24,
	WEFT_CXI_PROTO_RNR = 29,
	WEFT_CXI_OPTIMIZED_KEYS = 100, /* registration keys below this number
					  are optimized */
	WEFT_CXI_INJECT_LEN = 192,
	WEFT_CXI_TAG_BITS = 48,
	WEFT_CXI_PROFILES = 16, /* profiles of the hardware: one for each
				   network identifier, traffic class and packet
				   type */
	WEFT_CXI_ADDR_LEN = 8,
	WEFT_CXI_ADDR_VNI_AT = 4, /* offset of the uint16_t VNI in an address */
};

/* The value of domain_attr.auth_key and ep_attr.auth_key. */
struct weft_cxi_auth_key {
	uint32_t svc_id;
	uint16_t vni;
};
_Static_assert(sizeof(struct weft_cxi_auth_key) == 8, "the key has 8 bytes");

/* Bits of SLINGSHOT_TCS: traffic classes that the job may use. */
enum weft_cxi_tcs {
	WEFT_CXI_TCS_DEDICATED_ACCESS = 1,
	WEFT_CXI_TCS_LOW_LATENCY = 2,
	WEFT_CXI_TCS_BULK_DATA = 4,
	WEFT_CXI_TCS_BEST_EFFORT = 8,
};

#ifdef WEFT_CXI_HAS_ORIGINAL
_Static_assert(WEFT_CXI_HRP == FI_CXI_HRP, "FI_CXI_HRP");
_Static_assert(WEFT_CXI_UNRELIABLE == FI_CXI_UNRELIABLE, "FI_CXI_UNRELIABLE");
_Static_assert(WEFT_CXI_WEAK_FENCE == FI_CXI_WEAK_FENCE, "FI_CXI_WEAK_FENCE");
_Static_assert((int)WEFT_CXI_SET_TCLASS == (int)FI_OPT_CXI_SET_TCLASS,
	"FI_OPT_CXI_SET_TCLASS");
_Static_assert(
	(int)WEFT_CXI_SET_OPTIMIZED_MRS == (int)FI_OPT_CXI_SET_OPTIMIZED_MRS,
	"FI_OPT_CXI_SET_OPTIMIZED_MRS");
#endif

#endif
