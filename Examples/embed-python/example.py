"""Calls a system's library inside the walls, and survives what a plugin does wrong."""

from outrider import Host, PluginEnded

with Host() as host:
    with host.load("libz.so.1", policy="computation") as zlib:
        print("crc32", zlib.call("crc32", "u64(u64,bytes,u32)", 0, b"hello", 5).value)

    with host.load("libsqlite3.so.0", policy="version: 2\nextends: computation\nlimits: {memory: 32MiB}\n") as sqlite:
        database = sqlite.call("sqlite3_open", "i32(cstring,out handle)", ":memory:").outputs[0]
        statement = sqlite.call(
            "sqlite3_prepare_v2", "i32(handle,cstring,i32,out handle,pointer)", database, "SELECT 6 * 7", -1, None).outputs[0]
        sqlite.call("sqlite3_step", "i32(handle)", statement)
        print("sqlite", sqlite.call("sqlite3_column_int", "i32(handle,i32)", statement, 0).value)

        # A function of this program that SQLite calls for each row that a later call changes.
        with sqlite.register("void(pointer,i32,cstring,cstring,i64)", lambda *row: print("changed", row[3], row[4])) as changed:
            sqlite.call("sqlite3_update_hook", "pointer(handle,callback,pointer)", database, changed, None)
            sqlite.call(
                "sqlite3_exec", "i32(handle,cstring,pointer,pointer,pointer)", database,
                "CREATE TABLE t(a); INSERT INTO t VALUES (7), (8)", None, None, None)
            sqlite.call("sqlite3_update_hook", "pointer(handle,pointer,pointer)", database, None, None)

    with host.load("libc.so.6") as libc:
        with libc.allocate(64) as memory:
            memory.write(b"hello", offset=32)
            print("strlen", libc.call("strlen", "u64(pointer)", memory.at(32)).value, memory.read(2, offset=32))
        print("div", libc.call("div", "{i32,i32}(i32,i32)", 17, 5).value)
        try:
            libc.call("sleep", "u32(u32)", 30, within=0.2)
        except PluginEnded as error:
            print("sleep", error)
        print("outcome", libc.report()["outcome"]["kind"])
