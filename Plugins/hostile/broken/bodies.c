/* Files that are no library, or not the whole of one.
 *
 * H111: Not a library.
 *   library build/broken/empty.so
 *   run
 *   expect loadFailed
 *
 * H111: Not a library.
 *   library build/broken/text.so
 *   run
 *   expect loadFailed
 *
 * H111: Not a library.
 *   library build/broken/linker-script.so
 *   run
 *   expect loadFailed
 *
 * H111: Not a library.
 *   library build/broken/magic-only.so
 *   run
 *   expect loadFailed
 *
 * H111: Not a library.
 *   library build/broken/half-header.so
 *   run
 *   expect loadFailed
 *
 * H111: Not a library.
 *   library build/broken/header-only.so
 *   run
 *   expect loadFailed
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/half-file.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/without-end.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Not a library.
 *   library build/broken/all-ones.so
 *   run
 *   expect loadFailed
 *
 * H111: Not a library.
 *   library build/broken/garbage-after-header.so
 *   run
 *   expect loadFailed
 */
#include "broken.h"

void bodies(void) {
  static const char script[] = "#!/bin/sh\necho this is no library\n";
  static const char linker[] = "/* GNU ld script */\nINPUT ( /etc/shadow -lc )\n";
  save("empty", "", 0);
  save("text", script, sizeof script - 1);
  save("linker-script", linker, sizeof linker - 1);
  save("magic-only", sound, 4);
  save("half-header", sound, 40);
  save("header-only", sound, sizeof(Elf64_Ehdr));
  save("half-file", sound, size / 2);
  save("without-end", sound, size - 1);
  memset(copy, 0xff, size);
  save("all-ones", copy, size);
  header();
  memset(copy + sizeof(Elf64_Ehdr), 0xa5, size - sizeof(Elf64_Ehdr));
  save("garbage-after-header", copy, size);
}
