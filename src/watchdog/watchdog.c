/* SPDX-License-Identifier: BSD-3-Clause */
/* watchdog: installs the message handlers of the watchdog */
#include "watchdog/watchdog.h"

#include "core/req.h"
#include "transport/proc.h"
#include "watchdog/monitor.h"
#include "watchdog/query.h"
#include "watchdog/request.h"
#include "watchdog/resolve.h"

void weft_watchdog_open(struct weft_vci *vci)
{
	weft_dispatch_set(vci, WEFT_WIRE_QUERY, weft_query_on_query);
	weft_dispatch_set(vci, WEFT_WIRE_ANSWER, weft_query_on_answer);
	weft_dispatch_set(vci, WEFT_WIRE_GRAPH, weft_resolve_on_graph);
	weft_req_on_wait(weft_request_wait);
	if (vci == &weft_proc.vci)
		weft_monitor_open();
}
