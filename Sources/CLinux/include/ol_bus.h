/* A connection to a message bus through sd-bus(3) of libsystemd, which is loaded where the machine has it: what needs no bus
   needs no library either. Functions return 0 or an errno value; a connection belongs to one thread. */
#ifndef OL_BUS_H
#define OL_BUS_H
#include <stddef.h>
#include <stdint.h>

struct ol_bus;

/* Connects to `address` (D-Bus specification, "Server Addresses"), NULL: the system bus. Each call waits for its answer at
   most so long. ENOSYS: the machine has no libsystemd. */
int ol_bus_open(const char *_Nullable address, uint64_t limit_microseconds, struct ol_bus *_Nullable *_Nonnull bus);
void ol_bus_close(struct ol_bus *_Nonnull bus);

/* Whether a process has the name now. None is started for it. */
int ol_bus_has(struct ol_bus *_Nonnull bus, const char *_Nonnull name, int *_Nonnull has);
/* A basic property of the type ('b' as int, 'u' as uint32_t, 'd' as double). */
int ol_bus_property(struct ol_bus *_Nonnull bus, const char *_Nonnull name, const char *_Nonnull path,
                    const char *_Nonnull interface, const char *_Nonnull member, char type, void *_Nonnull value);
/* A string property; ENAMETOOLONG where it has no room. */
int ol_bus_text(struct ol_bus *_Nonnull bus, const char *_Nonnull name, const char *_Nonnull path,
                const char *_Nonnull interface, const char *_Nonnull member, char *_Nonnull text, size_t room);

/* Counts messages that a match rule lets through (sd_bus_add_match(3)). */
int ol_bus_watch(struct ol_bus *_Nonnull bus, const char *_Nonnull rule);
/* The same for a signal with one boolean, and counts those that say false. */
int ol_bus_watch_end(struct ol_bus *_Nonnull bus, const char *_Nonnull rule);

/* Takes what has come, without waiting. How many messages were let through since the last call, and how many ends. ENOTCONN
   and others: the connection is gone. */
int ol_bus_take(struct ol_bus *_Nonnull bus, unsigned *_Nonnull messages, unsigned *_Nonnull ends);
/* What poll(2) is to wait for. */
int ol_bus_poll(struct ol_bus *_Nonnull bus, int *_Nonnull descriptor, int *_Nonnull events);

#endif
