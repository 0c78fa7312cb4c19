#include "ol_bus.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* sd-bus.h of systemd 221; these can't change, as its library promises. */
typedef struct sd_bus sd_bus;
typedef struct sd_bus_message sd_bus_message;
typedef struct sd_bus_slot sd_bus_slot;
typedef int (*sd_handler)(sd_bus_message *message, void *context, void *error);

static struct {
  int (*new)(sd_bus **);
  int (*set_address)(sd_bus *, const char *);
  int (*set_bus_client)(sd_bus *, int);
  int (*start)(sd_bus *);
  int (*open_system)(sd_bus **);
  sd_bus *(*flush_close_unref)(sd_bus *);
  int (*set_method_call_timeout)(sd_bus *, uint64_t);
  int (*call_method)(sd_bus *, const char *, const char *, const char *, const char *, void *, sd_bus_message **,
                     const char *, ...);
  int (*get_property_trivial)(sd_bus *, const char *, const char *, const char *, const char *, void *, char, void *);
  int (*get_property_string)(sd_bus *, const char *, const char *, const char *, const char *, void *, char **);
  int (*add_match)(sd_bus *, sd_bus_slot **, const char *, sd_handler, void *);
  int (*process)(sd_bus *, sd_bus_message **);
  int (*get_fd)(sd_bus *);
  int (*get_events)(sd_bus *);
  int (*message_read)(sd_bus_message *, const char *, ...);
  sd_bus_message *(*message_unref)(sd_bus_message *);
} sd;
static int is_loaded;

static void load(void) {
  void *library = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!library) return;
  const struct {
    const char *name;
    void *function;
  } wanted[] = {
      {"sd_bus_new", &sd.new},
      {"sd_bus_set_address", &sd.set_address},
      {"sd_bus_set_bus_client", &sd.set_bus_client},
      {"sd_bus_start", &sd.start},
      {"sd_bus_open_system", &sd.open_system},
      {"sd_bus_flush_close_unref", &sd.flush_close_unref},
      {"sd_bus_set_method_call_timeout", &sd.set_method_call_timeout},
      {"sd_bus_call_method", &sd.call_method},
      {"sd_bus_get_property_trivial", &sd.get_property_trivial},
      {"sd_bus_get_property_string", &sd.get_property_string},
      {"sd_bus_add_match", &sd.add_match},
      {"sd_bus_process", &sd.process},
      {"sd_bus_get_fd", &sd.get_fd},
      {"sd_bus_get_events", &sd.get_events},
      {"sd_bus_message_read", &sd.message_read},
      {"sd_bus_message_unref", &sd.message_unref},
  };
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    void *found = dlsym(library, wanted[i].name);
    if (!found) return;
    memcpy(wanted[i].function, &found, sizeof found);
  }
  is_loaded = 1;
}

struct ol_bus {
  sd_bus *connection;
  unsigned messages;
  unsigned ends;
};

/* sd-bus has errno values below zero. */
static int code(int result) { return result < 0 ? -result : 0; }

int ol_bus_open(const char *address, uint64_t limit, struct ol_bus **bus) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  if (!is_loaded) return ENOSYS;
  struct ol_bus *made = calloc(1, sizeof *made);
  if (!made) return ENOMEM;
  int error;
  if (address) {
    error = code(sd.new(&made->connection));
    if (!error) error = code(sd.set_address(made->connection, address));
    if (!error) error = code(sd.set_bus_client(made->connection, 1));
    if (!error) error = code(sd.start(made->connection));
  } else {
    error = code(sd.open_system(&made->connection));
  }
  /* Before systemd 240 it is what the library has as its default. */
  if (!error) error = code(sd.set_method_call_timeout(made->connection, limit));
  if (error) {
    ol_bus_close(made);
    return error;
  }
  *bus = made;
  return 0;
}

void ol_bus_close(struct ol_bus *bus) {
  if (bus->connection) sd.flush_close_unref(bus->connection);
  free(bus);
}

int ol_bus_has(struct ol_bus *bus, const char *name, int *has) {
  sd_bus_message *answer = NULL;
  int error = code(sd.call_method(bus->connection, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                  "NameHasOwner", NULL, &answer, "s", name));
  if (error) return error;
  error = code(sd.message_read(answer, "b", has));
  sd.message_unref(answer);
  return error;
}

int ol_bus_property(struct ol_bus *bus, const char *name, const char *path, const char *interface, const char *member,
                    char type, void *value) {
  return code(sd.get_property_trivial(bus->connection, name, path, interface, member, NULL, type, value));
}

int ol_bus_text(struct ol_bus *bus, const char *name, const char *path, const char *interface, const char *member,
                char *text, size_t room) {
  char *found = NULL;
  int error = code(sd.get_property_string(bus->connection, name, path, interface, member, NULL, &found));
  if (error) return error;
  size_t needed = strlen(found) + 1;
  if (needed <= room)
    memcpy(text, found, needed);
  else
    error = ENAMETOOLONG;
  free(found);
  return error;
}

static int has_come(sd_bus_message *message, void *context, void *error) {
  (void)message, (void)error;
  ((struct ol_bus *)context)->messages++;
  return 0;
}

static int has_ended(sd_bus_message *message, void *context, void *error) {
  (void)error;
  int begins;
  struct ol_bus *bus = context;
  if (sd.message_read(message, "b", &begins) < 0) return 0;
  bus->messages++;
  if (!begins) bus->ends++;
  return 0;
}

int ol_bus_watch(struct ol_bus *bus, const char *rule) {
  return code(sd.add_match(bus->connection, NULL, rule, has_come, bus));
}

int ol_bus_watch_end(struct ol_bus *bus, const char *rule) {
  return code(sd.add_match(bus->connection, NULL, rule, has_ended, bus));
}

int ol_bus_take(struct ol_bus *bus, unsigned *messages, unsigned *ends) {
  /* A bus that never falls silent doesn't keep its reader. */
  for (int i = 0; i < 1000; i++) {
    int result = sd.process(bus->connection, NULL);
    if (result < 0) return -result;
    if (!result) break;
  }
  *messages = bus->messages;
  *ends = bus->ends;
  bus->messages = bus->ends = 0;
  return 0;
}

int ol_bus_poll(struct ol_bus *bus, int *descriptor, int *events) {
  *descriptor = sd.get_fd(bus->connection);
  if (*descriptor < 0) return -*descriptor;
  *events = sd.get_events(bus->connection);
  return *events < 0 ? -*events : 0;
}
