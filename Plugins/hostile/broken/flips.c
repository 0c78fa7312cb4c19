/* One byte in about 200 is another, from a fixed sequence (xorshift64).
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/flips-00.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/flips-01.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/flips-02.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/flips-03.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/flips-04.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/flips-05.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/flips-06.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/flips-07.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/flips-08.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/flips-09.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/flips-10.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/flips-11.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/flips-12.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/flips-13.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/flips-14.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/flips-15.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/flips-16.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/flips-17.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/flips-18.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/flips-19.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/flips-20.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/flips-21.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/flips-22.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/flips-23.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 */
#include "broken.h"

#include <stdio.h>

void flips(void) {
  for (unsigned variant = 0; variant < 24; variant++) {
    uint64_t state = 0x9e3779b97f4a7c15u + variant;
    char name[32];
    header();
    /* The first variants spare the header, so that more than its checks are reached. */
    for (size_t at = variant < 16 ? sizeof(Elf64_Ehdr) : 0; at < size; at++) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      if (state % 200 == 0) copy[at] ^= (unsigned char)(state >> 32);
    }
    snprintf(name, sizeof name, "flips-%02u", variant);
    save(name, copy, size);
  }
}
