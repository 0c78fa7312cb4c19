/* Runs behaviours of the corpus without Outrider: in a host of yours, inside a sandbox of yours, or, for what walls are
 * compared with, without any. It needs nothing but the C library.
 *
 *   standalone LIBRARY.so                               only loads it
 *   standalone LIBRARY.so SYMBOL SIGNATURE [ARGUMENT]   calls it
 *   standalone [--harmful] --all TABLE [ID …]           the rows of expected.tsv that are calls, from the table's folder: those that
 *                                                       work without walls; with --harmful also those that do harm or never end
 *   --limit SECONDS                                     for each; 3 where nothing is said
 *   --                                                  ends the options
 *
 * Each behaviour has a child of its own that is killed, with its process group, after the limit. One line of JSON says what
 * happened: "end" is returned, exited, signal, time or failed (not loaded, no such function). "value" is what the function
 * returned, "error" the name of that errno, "seconds" the time. A call that returns nothing has no value; an exit with 0 may be
 * that of another program that it became.
 *
 * The exit status with one behaviour: what it returned or exited with (255 where that is no byte), 128 and the number of the
 * signal, 124 for time, 127 for failed. With --all: 0 where every one was run.
 *
 * What it runs attacks whatever it runs in: the files, the processes, the memory of the machine. Give it namespaces, a folder and
 * a limit of your sandbox's; control-check and README.md show how.
 *
 * Signatures are those of the corpus: void or i32, with no argument or one of i32, u32, u64, cstring, out(N).
 */
#include <dlfcn.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <net/if.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NOTHING_YET, FAILED, RETURNED, RETURNED_NOTHING };

/* What a child says of itself. In memory, since some behaviours close or fill every descriptor. It may lie: this is no wall. */
struct result {
  volatile int kind;
  volatile int32_t value;
  char message[512];
};

struct behaviour {
  const char *id, *library, *symbol, *signature, *argument;
};

static struct result *result;
static double limit = 3;

/* A fresh network namespace has a loopback that is down. */
static void raise_loopback(void) {
  struct ifreq request = {.ifr_name = "lo"};
  int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (any >= 0 && ioctl(any, SIOCGIFFLAGS, &request) == 0 && !(request.ifr_flags & IFF_UP)) {
    request.ifr_flags |= IFF_UP;
    ioctl(any, SIOCSIFFLAGS, &request);
  }
  if (any >= 0) close(any);
}

/* --- The child ---------------------------------------------------------------------------------------------------- */

static void fail(const char *message) {
  snprintf(result->message, sizeof result->message, "%s", message);
  result->kind = FAILED;
  _exit(127);
}

static int32_t call(void *function, const char *signature, const char *argument) {
  union {
    void *address;
    int32_t (*nothing)(void);
    int32_t (*word)(int32_t);
    int32_t (*wide)(uint64_t);
    int32_t (*text)(const char *);
    int32_t (*buffer)(void *);
  } as = {function};
  const char *open = strchr(signature, '(');
  static char out[1 << 20];
  if (!open) fail("that isn't a signature");
  if (strncmp(open, "(out(", 5) == 0 && strcmp(strchr(open, ')'), "))") == 0) return as.buffer(out);
  if (strcmp(open, "()") == 0) return as.nothing();
  const bool takes_text = strcmp(open, "(cstring)") == 0, takes_wide = strcmp(open, "(u64)") == 0;
  const bool takes_word = strcmp(open, "(i32)") == 0 || strcmp(open, "(u32)") == 0;
  if ((takes_text || takes_wide || takes_word) && !argument) fail("the function needs an argument");
  if (takes_text) return as.text(argument);
  if (takes_wide) return as.wide(strtoull(argument, NULL, 0));
  if (takes_word) return as.word((int32_t)strtoll(argument, NULL, 0));
  fail("a signature is void or i32 with no argument or one of i32, u32, u64, cstring, out(N)");
  return -1;
}

static void behave(const struct behaviour *what) {
  void *library = dlopen(what->library, RTLD_NOW | RTLD_LOCAL), *function = NULL;
  if (library && what->symbol) function = dlsym(library, what->symbol);
  if (!library || (what->symbol && !function)) fail(dlerror());
  if (!what->symbol) {
    result->kind = RETURNED_NOTHING;
    _exit(0);
  }
  /* For a tracer of its system calls: what follows is the behaviour's. */
  const char *mark = getenv("CONTROL_MARK");
  if (mark && write(-1, mark, strlen(mark)) >= 0) _exit(70);
  int32_t value = call(function, what->signature, what->argument);
  result->value = value;
  result->kind = strncmp(what->signature, "void", 4) == 0 ? RETURNED_NOTHING : RETURNED;
  /* Without exit handlers: they may be what the behaviour left behind. */
  _exit(0);
}

/* --- What it says ------------------------------------------------------------------------------------------------- */

static void print_text(const char *name, const char *text) {
  printf("\"%s\":\"", name);
  for (; *text; text++) {
    unsigned char byte = (unsigned char)*text;
    /* Paths and messages may be any bytes; those that aren't ASCII are taken for Latin-1. */
    if (byte == '"' || byte == '\\') printf("\\%c", byte);
    else if (byte < ' ' || byte > '~') printf("\\u%04x", byte);
    else putchar(byte);
  }
  putchar('"');
}

static void print_field(const char *name, const char *text) {
  if (!text) return;
  print_text(name, text);
  putchar(',');
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Whether the child has ended. One that has itself traced (PTRACE_TRACEME) leaves a zombie for each of its threads, which keep its
   own from going until they are waited for, too. */
static bool has_ended(pid_t child, int options, int *status) {
  for (pid_t ended; (ended = waitpid(-1, status, options | __WALL)) > 0;)
    if (ended == child && !WIFSTOPPED(*status)) return true;
  return false;
}

/* Waits for the child until the limit; returns whether it has ended by then. */
static bool ends_in_time(pid_t child, int *status) {
  const double end = now() + limit;
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  for (double left; (left = end - now()) > 0;) {
    if (has_ended(child, WNOHANG, status)) return true;
    struct timespec rest = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
    sigtimedwait(&children, NULL, &rest);
  }
  return has_ended(child, WNOHANG, status);
}

/* Runs one and prints its line; returns the exit status for it. */
static int run(const struct behaviour *what) {
  memset(result, 0, sizeof *result);
  fflush(stdout);
  const pid_t parent = getpid();
  const double begin = now();
  pid_t child = fork();
  if (child < 0) return perror("standalone: fork"), 71;
  if (child == 0) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* What it prints isn't one of the lines. */
    dup2(2, 1);
    if (getppid() == parent) behave(what);
    _exit(70);
  }
  int status = 0;
  const bool is_in_time = ends_in_time(child, &status);
  const double seconds = now() - begin;
  kill(-child, SIGKILL);
  kill(child, SIGKILL);
  if (!is_in_time) has_ended(child, 0, &status);

  putchar('{');
  print_field("id", what->id);
  print_field("behaviour", what->symbol ? what->symbol : what->library);
  print_field("argument", what->argument);
  int code = 0;
  if (!is_in_time) {
    printf("\"end\":\"time\"");
    code = 124;
  } else if (WIFSIGNALED(status)) {
    printf("\"end\":\"signal\",\"signal\":\"%s\"", sigabbrev_np(WTERMSIG(status)) ? sigabbrev_np(WTERMSIG(status)) : "unknown");
    code = 128 + WTERMSIG(status);
  } else if (result->kind == FAILED) {
    printf("\"end\":\"failed\",");
    print_text("message", result->message);
    code = 127;
  } else if (result->kind == NOTHING_YET || WEXITSTATUS(status) != 0) {
    code = WEXITSTATUS(status);
    printf("\"end\":\"exited\",\"status\":%d", code);
  } else if (result->kind == RETURNED_NOTHING) {
    printf("\"end\":\"returned\"");
  } else {
    const int32_t value = result->value;
    printf("\"end\":\"returned\",\"value\":%d", value);
    if (value > 0 && strerrorname_np(value)) printf(",\"error\":\"%s\"", strerrorname_np(value));
    code = value < 0 || value > 255 ? 255 : value;
  }
  printf(",\"seconds\":%.3f}\n", seconds);
  fflush(stdout);
  return code;
}

/* --- A table ------------------------------------------------------------------------------------------------------ */

static bool is_wanted(const char *id, char **ids, int count) {
  for (int index = 0; index < count; index++)
    if (strcmp(ids[index], id) == 0) return true;
  return count == 0;
}

/* Read as a whole and closed before anything runs: a behaviour that exits would move the place that its parent reads at. */
static char *read_table(const char *path) {
  enum { MOST = 4 << 20 };
  FILE *file = fopen(path, "re");
  char *text = file ? calloc(1, MOST) : NULL;
  size_t length = text ? fread(text, 1, MOST, file) : 0;
  if (!text || ferror(file) || length == MOST || strlen(text) != length) {
    fprintf(stderr, "standalone: %s: %s\n", path, length == MOST ? "is longer than 4 MiB" : errno ? strerror(errno) : "isn't a text");
    free(text);
    text = NULL;
  }
  if (file) fclose(file);
  return text;
}

static int run_all(const char *table, bool with_harm, char **ids, int count) {
  char copy[PATH_MAX], library[2 * PATH_MAX], *text = read_table(table), *lines = text;
  if (!text) return 66;
  snprintf(copy, sizeof copy, "%s", table);
  const char *folder = dirname(copy);
  int rows = 0, number = 0;
  for (char *line; (line = strsep(&lines, "\n"));) {
    char *rest = line, *column[12] = {NULL};
    int columns = 0;
    number++;
    if (line[0] == '#' || line[0] == 0) continue;
    while (columns < 12 && rest) column[columns++] = strsep(&rest, "\t");
    if (columns < 11 || rest) {
      free(text);
      return fprintf(stderr, "standalone: %s:%d: a row has 11 or 12 columns divided by one TAB\n", table, number), 65;
    }
    /* An extension needs a host's table of functions; more than one argument is of calls that know Outrider's own memory. */
    const bool is_harmless = strcmp(column[9], "yes") == 0, is_call = strcmp(column[2], "-") != 0 && !strchr(column[4], ' ');
    if (!is_call || strchr(column[3], ',') || (!is_harmless && !with_harm) || !is_wanted(column[0], ids, count)) continue;
    snprintf(library, sizeof library, "%s/%s", folder, column[1]);
    struct behaviour what = {column[0], library, column[2], column[3], strcmp(column[4], "-") == 0 ? NULL : column[4]};
    run(&what);
    rows++;
  }
  free(text);
  return rows > 0 ? 0 : (fprintf(stderr, "standalone: %s has no such row\n", table), 66);
}

static int usage(void) {
  fprintf(stderr, "usage: standalone [--limit SECONDS] LIBRARY.so [SYMBOL SIGNATURE [ARGUMENT]]\n"
                  "       standalone [--limit SECONDS] [--harmful] --all expected.tsv [ID …]\n");
  return 64;
}

int main(int count, char **arguments) {
  bool all = false, with_harm = false;
  int at = 1;
  for (; at < count && strncmp(arguments[at], "--", 2) == 0; at++) {
    if (strcmp(arguments[at], "--") == 0) { at++; break; }
    char *end = NULL;
    if (strcmp(arguments[at], "--all") == 0) all = true;
    else if (strcmp(arguments[at], "--harmful") == 0) with_harm = true;
    else if (strcmp(arguments[at], "--limit") != 0 || ++at == count) return usage();
    else if (limit = strtod(arguments[at], &end), *end || !(limit > 0) || limit > 3600) return usage();
  }
  char **words = arguments + at;
  const int given = count - at;
  if (given < 1 || (!all && given != 1 && given != 3 && given != 4) || (with_harm && !all)) return usage();
  result = mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (result == MAP_FAILED) return perror("standalone: mmap"), 71;
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigprocmask(SIG_BLOCK, &children, NULL);
  raise_loopback();
  if (all) return run_all(words[0], with_harm, words + 1, given - 1);
  struct behaviour what = {NULL, words[0], given > 1 ? words[1] : NULL, given > 1 ? words[2] : NULL, given == 4 ? words[3] : NULL};
  return run(&what);
}
