#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""peek: what a user can open of a running job

usage: peek.py UID DIRECTORY PID...
Becomes the user UID, then tries to open the memory and the descriptors of each
process, the entries of the launcher's DIRECTORY, and files in /dev/shm. Connects
to the sockets of the ranks. Prints the kinds of what it opened, and the number of
bytes that it received.
"""
import os
import socket
import sys

uid, directory, pids = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
opened = set()


def attempt(kind, function, path):
    try:
        function(path)
        opened.add(kind)
    except OSError:
        pass


def read_byte(path):
    with open(path, "rb", buffering=0):
        pass


with open("/proc/net/unix", encoding="utf-8") as table:
    ranks = {line.split()[-1] for line in table if "@weft-rank-" in line}
os.setgroups([])
os.setgid(uid)
os.setuid(uid)
for pid in pids:
    attempt("memory", read_byte, f"/proc/{pid}/mem")
    for fd in range(256):
        attempt("descriptor", os.readlink, f"/proc/{pid}/fd/{fd}")
for name in os.listdir(directory):
    attempt("directory", os.listdir, f"{directory}/{name}")
for name in os.listdir("/dev/shm"):
    if "weft" in name:
        attempt("segment", read_byte, f"/dev/shm/{name}")
received = 0
for name in ranks:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        peer.settimeout(1)
        try:
            peer.connect("\0" + name[1:])
            received += len(peer.recv(1))
        except OSError:
            pass
print(" ".join(sorted(opened)) or "nothing", received)
