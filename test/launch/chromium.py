#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""chromium: the rows that Chromium finds in a timeline

usage: chromium.py TRACE [PICTURE]
Reads the file with the parser of the developer tools, in headless Chromium
without a network. Prints a line "PID NAME SLICES" for each thread with slices.
Writes the timeline, as the panel Performance draws it, to the file PICTURE.png.
Exits with 77 and a reason if this Chromium cannot do that.
"""
import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

DEADLINE_S = 100
PARSER = "devtools://devtools/bundled/models/trace/trace.js"
PAGE = "devtools://devtools/bundled/devtools_app.html"
SCRIPT = """(async () => {
    const trace = await import('%s');
    const model = trace.TraceModel.Model.createWithAllHandlers();
    await model.parse(%s.traceEvents, {metadata: {}, isFreshRecording: false});
    const data = model.parsedTrace(0).data;
    const rows = [];
    for (const [pid, process] of data.Renderer.processes)
        for (const thread of process.threads.values())
            rows.push([pid, data.Meta.processNames.get(pid)?.args.name ?? '-',
                thread.entries.filter(e => e.ph === 'X').length]);
    return JSON.stringify(rows.filter(row => row[2]));
})()"""

# Opens the file in the panel, hides all but the timeline, and opens all rows.
DRAW = """(async () => {
    const bundled = 'devtools://devtools/bundled/';
    const legacy = await import(bundled + 'ui/legacy/legacy.js');
    const timeline = await import(bundled + 'panels/timeline/timeline.js');
    await legacy.ViewManager.ViewManager.instance().showView('timeline');
    const panel = timeline.TimelinePanel.TimelinePanel.instance();
    await panel.loadFromFile(new File([%s], 'trace.json'));
    const chart = panel.flameChart.mainFlameChart;
    while (!chart.timelineData()?.groups.length)
        await new Promise(wake => setTimeout(wake, 100));
    panel.flameChart.detailsSplitWidget.hideSidebar();
    chart.timelineData().groups.forEach(
        (group, i) => group.expanded || chart.toggleGroupExpand(i));
    // a window with the keys opens when the timeline is drawn
    await new Promise(wake => setTimeout(wake, 1000));
    const inside = node => [node, ...[...node.children,
        ...(node.shadowRoot?.children ?? [])].flatMap(inside)];
    inside(document.body).filter(node => node.tagName === 'DIALOG')
        .forEach(dialog => dialog.close());
    await new Promise(wake => setTimeout(wake, 1000));
    const place = chart.contentElement.getBoundingClientRect();
    return JSON.stringify([place.x, place.y, place.width]);
})()"""


def skip(why):
    print(why)
    sys.exit(77)


class Browser:
    """Chromium, commanded through two pipes: descriptors 3 and 4."""

    def __init__(self, program, directory):
        command_rd, self.command = os.pipe()
        self.answers, answer_wr = os.pipe()
        self.got = b""
        self.n_sent = 0
        # the shell renumbers the descriptors
        self.process = subprocess.Popen(
            ["bash", "-c", 'exec "$@" 3<&%d 4>&%d' % (command_rd, answer_wr),
             "bash", program, "--headless=new", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--remote-debugging-pipe",
             f"--user-data-dir={directory}", "about:blank"],
            pass_fds=(command_rd, answer_wr), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)
        os.close(command_rd)
        os.close(answer_wr)

    def call(self, method, session=None, **params):
        self.n_sent += 1
        message = {"id": self.n_sent, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.command, data):]
        while True:
            while b"\0" in self.got:
                one, self.got = self.got.split(b"\0", 1)
                answer = json.loads(one)
                if answer.get("id") == self.n_sent:
                    return answer.get("result", answer)
            more = os.read(self.answers, 1 << 16)
            if not more:
                skip("Chromium does not start here")
            self.got += more

    def value(self, session, expression):
        answer = self.call("Runtime.evaluate", session, awaitPromise=True,
                           expression=expression)
        if "value" not in answer.get("result", {}):
            sys.exit(f"Chromium refuses the timeline: {answer}")
        return json.loads(answer["result"]["value"])

    def stop(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def draw(browser, session, trace, file):
    browser.call("Emulation.setDeviceMetricsOverride", session, width=1200,
                 height=400, deviceScaleFactor=1, mobile=False)
    x, y, width = browser.value(session, DRAW % json.dumps(trace))
    answer = browser.call("Page.captureScreenshot", session, clip={
        "x": x, "y": y, "width": width, "height": 400 - y, "scale": 1})
    with open(file, "wb") as out:
        out.write(base64.b64decode(answer["data"]))


def main():
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if not program:
        skip("there is no chromium")
    with open(sys.argv[1], encoding="utf-8") as file:
        trace = json.dumps(json.load(file))
    signal.alarm(DEADLINE_S)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        browser = Browser(program, directory)
        try:
            target = browser.call("Target.createTarget", url=PAGE)["targetId"]
            session = browser.call("Target.attachToTarget", targetId=target,
                                   flatten=True)["sessionId"]
            probe = browser.call(
                "Runtime.evaluate", session, awaitPromise=True,
                expression=f"import('{PARSER}').then(() => true, () => false)")
            if not probe["result"].get("value"):
                skip("this Chromium has no trace parser at " + PARSER)
            rows = browser.value(session, SCRIPT % (PARSER, trace))
            if len(sys.argv) > 2:
                draw(browser, session, trace, sys.argv[2])
        finally:
            browser.stop()
    for pid, name, n_slices in sorted(rows):
        print(pid, name, n_slices)


main()
