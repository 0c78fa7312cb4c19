/* Tables of the dynamic section that lie elsewhere.
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/strings-beyond.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/symbols-beyond.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/relocations-4g.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/hash-beyond.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/init-beyond.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/init-array-4g.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/needed-beyond.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/name-beyond.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 */
#include "broken.h"

void tables(void) {
  BROKEN("strings-beyond", dynamic(DT_STRTAB)->d_un.d_ptr = (uint64_t)1 << 40);
  BROKEN("symbols-beyond", dynamic(DT_SYMTAB)->d_un.d_ptr = (uint64_t)1 << 40);
  BROKEN("relocations-4g", dynamic(DT_RELASZ)->d_un.d_val = (uint64_t)24 << 32);
  BROKEN("hash-beyond", dynamic(DT_GNU_HASH)->d_un.d_ptr = (uint64_t)1 << 40);
  BROKEN("init-beyond", dynamic(DT_INIT)->d_un.d_ptr = (uint64_t)1 << 40);
  BROKEN("init-array-4g", dynamic(DT_INIT_ARRAYSZ)->d_un.d_val = (uint64_t)8 << 32);
  BROKEN("needed-beyond", dynamic(DT_NEEDED)->d_un.d_val = UINT32_MAX);
  BROKEN("name-beyond", dynamic(DT_SONAME)->d_un.d_val = UINT32_MAX);
}
