/* Headers that are wrong in one thing.
 *
 * H111: Not a library.
 *   library build/broken/class-32.so
 *   run
 *   expect loadFailed
 *
 * H111: Not a library.
 *   library build/broken/big-endian.so
 *   run
 *   expect loadFailed
 *
 * H111: Not a library.
 *   library build/broken/ident-version.so
 *   run
 *   expect loadFailed
 *
 * H111: Not a library.
 *   library build/broken/os-abi.so
 *   run
 *   expect loadFailed
 *
 * H111: Not a library.
 *   library build/broken/machine-arm.so
 *   run
 *   expect loadFailed
 *
 * H111: Not a library.
 *   library build/broken/machine-i386.so
 *   run
 *   expect loadFailed
 *
 * H111: Not a library.
 *   library build/broken/type-core.so
 *   run
 *   expect loadFailed
 *
 * H111: Not a library.
 *   library build/broken/type-executable.so
 *   run
 *   expect loadFailed
 *
 * H111: Not a library.
 *   library build/broken/no-segments.so
 *   run
 *   expect loadFailed
 *
 * H111: Not a library.
 *   library build/broken/segments-65535.so
 *   run
 *   expect loadFailed
 *
 * H111: Not a library.
 *   library build/broken/segment-size.so
 *   run
 *   expect loadFailed
 *
 * H111: Not a library.
 *   library build/broken/segments-beyond.so
 *   run
 *   expect loadFailed
 *
 * H111: Not a library.
 *   library build/broken/segments-odd.so
 *   run
 *   expect loadFailed
 *
 * H111: The loader needs no sections.
 *   library build/broken/sections-beyond.so
 *   run
 *   expect returned|loadFailed 3/0
 */
#include "broken.h"

void headers(void) {
  BROKEN("class-32", header()->e_ident[EI_CLASS] = ELFCLASS32);
  BROKEN("big-endian", header()->e_ident[EI_DATA] = ELFDATA2MSB);
  BROKEN("ident-version", header()->e_ident[EI_VERSION] = 99);
  BROKEN("os-abi", header()->e_ident[EI_OSABI] = 0xff);
  BROKEN("machine-arm", header()->e_machine = EM_AARCH64);
  BROKEN("machine-i386", header()->e_machine = EM_386);
  BROKEN("type-core", header()->e_type = ET_CORE);
  BROKEN("type-executable", header()->e_type = ET_EXEC);
  BROKEN("no-segments", header()->e_phnum = 0);
  BROKEN("segments-65535", header()->e_phnum = 0xffff);
  BROKEN("segment-size", header()->e_phentsize = 1);
  BROKEN("segments-beyond", header()->e_phoff = (uint64_t)1 << 40);
  BROKEN("segments-odd", header()->e_phoff = 3);
  BROKEN("sections-beyond", header()->e_shoff = UINT64_MAX - 8);
}
