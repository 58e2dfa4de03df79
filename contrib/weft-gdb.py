# SPDX-License-Identifier: BSD-3-Clause
# weft-gdb.py: gdb commands that show the state of a process of Weft
#
# usage: gdb -x PREFIX/share/weft/weft-gdb.py -p PID
#        gdb -x PREFIX/share/weft/weft-gdb.py PROGRAM CORE
#
# weft where    the calls in which the process waits, and for which processes
# weft comms    its communicators, with the lengths of their queues
# weft queues   posted receives, unexpected messages and pending operations
#
# The commands read memory and call no function of the process, so they also
# work with a core file and while locks are held. They need libweft's debug
# information.
import gdb

KINDS = ("send", "receive", "collective", "generalized request",
         "other request")


class Missing(gdb.GdbError):
    """The process has no library of Weft, or it has no debug information."""

    def __init__(self, name):
        super().__init__(
            "weft: %s is unknown: the process does not use Weft, or libweft "
            "has no debug information (compile with -g)" % name)


def struct(name):
    try:
        return gdb.lookup_type("struct " + name)
    except gdb.error:
        raise Missing("struct " + name) from None


def variable(name, type_name):
    """A variable of the library. Its name alone may also be the program's."""
    symbols = [gdb.lookup_global_symbol(name)]
    for symbol in symbols + list(gdb.lookup_static_symbols(name)):
        if symbol and symbol.type.strip_typedefs().tag == type_name:
            return symbol.value()
    raise Missing(name)


def member_offset(type_, name):
    for field in type_.fields():
        if field.name == name:
            return field.bitpos // 8
        if field.name is None and field.type.code in (
                gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
            inner = member_offset(field.type, name)
            if inner is not None:
                return field.bitpos // 8 + inner
    return None


def number(value):
    return int(value)


def text(value):
    try:
        return value.string(errors="replace")
    except gdb.error:
        return "?"


def entries(head, type_name, member):
    """The structs in a list of struct weft_link."""
    type_ = struct(type_name)
    offset = member_offset(type_, member)
    at, link = head["next"], head.address
    for _ in range(1000000):
        if at == link or not at:
            return
        address = int(at) - offset
        yield gdb.Value(address).cast(type_.pointer()).dereference()
        at = at["next"]


def objects(table, type_name):
    """The live objects of a struct weft_table."""
    type_ = struct(type_name)
    chunk_len = number(gdb.parse_and_eval("WEFT_TABLE_CHUNK"))
    for i in range(number(table["n_used"])):
        chunk = int(table["chunk"][i // chunk_len])
        if not chunk:
            continue
        address = chunk + i % chunk_len * number(table["size"])
        entry = gdb.Value(address).cast(type_.pointer()).dereference()
        if number(entry["obj"]["gen"]) & 1:
            yield entry


def label(comm):
    """As weft_comm_label()."""
    name, tag = text(comm["name"]), text(comm["tag"])
    if name:
        return name
    if tag and tag[0] < " ":
        return tag[1:]
    return tag or "without a name"


def place(value, noun):
    value = number(value)
    return "any " + noun if value < 0 else "%s %d" % (noun, value)


def plane(ctx):
    end = number(gdb.parse_and_eval("WEFT_CTX_OFFSET_END"))
    at = number(ctx) % end
    if at == number(gdb.parse_and_eval("WEFT_CTX_OFFSET_P2P")):
        return ""
    if at == number(gdb.parse_and_eval("WEFT_CTX_OFFSET_COLL")):
        return "collective, "
    return "of the library, "


def envelope(entry, preposition):
    where = plane(entry["ctx"])
    if where:
        return "%s%s %s" % (where, preposition,
                            place(entry["src"], "rank"))
    return "%s %s, %s" % (preposition, place(entry["src"], "rank"),
                          place(entry["tag"], "tag"))


def process(value):
    """A process by its number: the upper half is its job."""
    mine = number(variable("weft_proc", "weft_proc")["proc"])
    return "process %d%s" % (
        number(value) & 0xffffffff,
        "" if number(value) >> 32 == mine >> 32 else " of another job")


def print_process():
    proc = variable("weft_proc", "weft_proc")
    facts = proc["facts"]
    print("rank %d of %d, job %s" % (number(facts["rank"]),
                                     number(facts["size"]),
                                     text(facts["job"])))


def print_comm(comm):
    match = comm["match"]
    print("communicator \"%s\": rank %d of %d, context %d, VCI %d, "
          "%d posted, %d unexpected, %d collectives" % (
              label(comm), number(comm["rank"]), number(comm["size"]),
              number(comm["ctx"]), number(comm["vci"]["number"]),
              number(match["n_posted"]), number(match["n_unexpected"]),
              number(comm["coll"]["seq"])))


def posted(comm):
    match = comm["match"]
    bins = number(gdb.parse_and_eval("WEFT_MATCH_BINS"))
    reqs = list(entries(match["wild"], "weft_req", "link"))
    if match["posted"]:
        for i in range(bins):
            reqs += entries(match["posted"][i], "weft_req", "link")
    return sorted(reqs, key=lambda req: number(req["recv"]["order"]))


def print_posted(comm):
    for req in posted(comm):
        print("  posted: receive %s, %d bytes" % (
            envelope(req, "from"), number(req["len"])))


def print_unexpected(comm):
    for message in entries(comm["match"]["arrived"], "weft_message",
                           "arrived"):
        print("  unexpected: message %s, %d bytes%s" % (
            envelope(message, "from"), number(message["len"]),
            ", announced" if message["is_rts"] else ""))


def is_pending(req):
    """True if the operation is incomplete and no posted receive."""
    if not number(req["refs"]) or req["is_done"]:
        return False
    if KINDS[number(req["kind"])] == "receive":
        return not req["recv"]["is_posted"]
    is_persistent = req["is_persistent"]
    return not is_persistent or bool(req["is_active"])


def describe_pending(req):
    kind = KINDS[number(req["kind"])]
    if kind == "send":
        return "send %s, %d bytes" % (envelope(req, "to"),
                                      number(req["len"]))
    if kind == "receive":
        return "receive %s, %d bytes: its data arrives" % (
            envelope(req, "from"), number(req["len"]))
    return kind


def print_pending(reqs, comm):
    mine = comm.address if comm is not None else 0
    for req in reqs:
        if int(req["comm"]) == int(mine):
            print("  pending: %s" % describe_pending(req))


class Weft(gdb.Command):
    """State of a process that uses Weft: weft where, weft comms, weft queues."""

    def __init__(self):
        super().__init__("weft", gdb.COMMAND_STATUS, prefix=True)


class Where(gdb.Command):
    """weft where: the calls in which this process waits for other processes."""

    def __init__(self):
        super().__init__("weft where", gdb.COMMAND_STATUS)

    def invoke(self, arg, from_tty):
        print_process()
        registry = variable("registry", "weft_wait_registry")
        n = 0
        for wait in entries(registry["waits"], "weft_wait", "link"):
            n += 1
            seconds = (number(wait["checked_ns"]) -
                       number(wait["begun_ns"])) / 1e9
            print("%s, for %.1f s" % (text(wait["text"]), max(seconds, 0)))
            self.print_edges(wait)
        if not n and number(registry["noted_ns"]):
            seconds = (number(registry["noted_ns"]) -
                       number(registry["note_since_ns"])) / 1e9
            print("%s, for %.1f s, if that loop has not ended since" % (
                text(registry["note"]), max(seconds, 0)))
        elif not n:
            print("in no call that has waited for a tenth of a second")

    @staticmethod
    def print_edges(wait):
        for i in range(number(wait["n_edges"])):
            edge = wait["edges"][i]
            print("  needs %s, which waits itself (\"%s\")" % (
                process(edge["proc"]), text(edge["label"])))
        facts = wait["facts"]
        if number(facts["n_missing"]):
            print("  needs %s, which does not wait%s" % (
                process(facts["missing"]),
                "" if number(facts["n_missing"]) == 1 else
                ", and %d more" % (number(facts["n_missing"]) - 1)))


class Comms(gdb.Command):
    """weft comms: the communicators of this process."""

    def __init__(self):
        super().__init__("weft comms", gdb.COMMAND_STATUS)

    def invoke(self, arg, from_tty):
        print_process()
        for comm in objects(variable("weft_comms", "weft_table"),
                            "weft_comm"):
            print_comm(comm)


class Queues(gdb.Command):
    """weft queues: posted receives, unexpected messages, pending operations."""

    def __init__(self):
        super().__init__("weft queues", gdb.COMMAND_STATUS)

    def invoke(self, arg, from_tty):
        print_process()
        reqs = [req for req in objects(
            variable("weft_reqs", "weft_table"), "weft_req")
            if is_pending(req)]
        for comm in objects(variable("weft_comms", "weft_table"),
                            "weft_comm"):
            print_comm(comm)
            print_posted(comm)
            print_unexpected(comm)
            print_pending(reqs, comm)
        if any(not int(req["comm"]) for req in reqs):
            print("without a communicator:")
            print_pending(reqs, None)


Weft()
Where()
Comms()
Queues()
