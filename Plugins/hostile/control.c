/* The positive control: loads a library and calls a function without any walls, and prints what it returned.
   Usage: control LIBRARY SYMBOL [void]. HOSTILE_DIRECTORY takes the place of the container.

   Only functions that return i32 are safe, and of those all: their arguments do no harm and they clean up after
   themselves. What h99_deep, h99_names, h99_unreadable and h99_many leave lies in HOSTILE_DIRECTORY; give them a new one.
   h78_kill_self and h70_two_replies end this process or write to its descriptor 3. Functions without a result never
   return or crash: with `void` they are ended by an alarm after three seconds, and h23 to h48 take 64 MiB and more. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **arguments) {
  if (count < 3) return fprintf(stderr, "usage: control LIBRARY SYMBOL [void]\n"), 64;
  void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) return fprintf(stderr, "%s\n", dlerror()), 65;
  void *symbol = dlsym(library, arguments[2]);
  if (!symbol) return fprintf(stderr, "%s\n", dlerror()), 66;
  alarm(3);
  if (count > 3) {
    ((void (*)(void))symbol)();
    puts("returned");
  } else {
    const int32_t value = ((int32_t(*)(void))symbol)();
    printf("%d %s\n", value, value ? strerror(value) : "succeeded");
  }
  return 0;
}
