/* The positive control: does a behaviour work where there are no walls? If it doesn't, its refusal proves nothing.
 *
 *   control LIBRARY.so                               only loads it
 *   control LIBRARY.so SYMBOL SIGNATURE [ARGUMENT]   calls it and prints what it returned
 *
 * The exit status is what the function returned; 0 also where it became another program that succeeded. Signatures are
 * those of the corpus: void or i32, with no argument or one of i32, u32, u64, cstring, out(N). Use it through
 * control-check, which runs it in a directory and in namespaces of its own.
 */
#include <dlfcn.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

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
  if (!open) return fprintf(stderr, "control: '%s' isn't a signature\n", signature), -1;
  if (strncmp(open, "(out(", 5) == 0) return as.buffer(out);
  if (strcmp(open, "()") == 0) return as.nothing();
  if (!argument) return fprintf(stderr, "control: %s needs an argument\n", signature), -1;
  if (strcmp(open, "(cstring)") == 0) return as.text(argument);
  if (strcmp(open, "(u64)") == 0) return as.wide(strtoull(argument, NULL, 0));
  if (strcmp(open, "(i32)") == 0 || strcmp(open, "(u32)") == 0) return as.word((int32_t)strtoll(argument, NULL, 0));
  return fprintf(stderr, "control: '%s' isn't a signature that it knows\n", signature), -1;
}

int main(int count, char **arguments) {
  if (count != 2 && count != 4 && count != 5)
    return fprintf(stderr, "usage: control LIBRARY.so [SYMBOL SIGNATURE [ARGUMENT]]\n"), 64;
  raise_loopback();
  void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) return fprintf(stderr, "control: %s\n", dlerror()), 127;
  if (count == 2) return 0;
  void *function = dlsym(library, arguments[2]);
  if (!function) return fprintf(stderr, "control: %s\n", dlerror()), 127;
  fflush(stdout);
  /* For whoever looks at its system calls: what follows is the behaviour's. */
  const char *mark = getenv("CONTROL_MARK");
  if (mark && write(-1, mark, strlen(mark)) >= 0) return 70;
  int32_t result = call(function, arguments[3], count == 5 ? arguments[4] : NULL);
  const char *returns_nothing = strncmp(arguments[3], "void", 4) == 0 ? "returned" : NULL;
  if (returns_nothing) return puts(returns_nothing), 0;
  printf("%d%s%s\n", result, result ? " " : "", result > 0 ? strerror(result) : "");
  fflush(stdout);
  /* Without exit handlers: they may be what the behaviour left behind. */
  _exit(result < 0 || result > 255 ? 255 : result);
}
