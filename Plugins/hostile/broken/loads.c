/* Segments that are wrong in one thing.
 *
 * H111: Not a library.
 *   library build/broken/huge-memsz.so
 *   run
 *   expect loadFailed
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/wide-memsz.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/filesz-beyond.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/filesz-above-memsz.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/offset-beyond.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/negative-address.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/overlapping.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H111: Not a library.
 *   library build/broken/alignment.so
 *   run
 *   expect loadFailed|returned
 *
 * H111: Code that may be written isn't mapped.
 *   library build/broken/writable-code.so
 *   run
 *   expect loadFailed, denied mmap
 *
 * H111: Not a library.
 *   library build/broken/no-load.so
 *   run
 *   expect loadFailed|crashed
 *
 * H111: Not a library.
 *   library build/broken/no-dynamic.so
 *   run
 *   expect loadFailed
 *
 * H111: Whatever it does, it does in the child, within the limits.
 *   library build/broken/dynamic-beyond.so
 *   run
 *   with --wall 2s
 *   expect loadFailed|crashed|returned|entryPointMissing|memoryExceeded|wallTimeExceeded *, denied *
 *
 * H114: The same as load/execstack, by a changed byte.
 *   library build/broken/stack-executable.so
 *   run
 *   expect loadFailed, denied mprotect
 */
#include "broken.h"

void loads(void) {
  BROKEN("huge-memsz", segment(PT_LOAD, 0)->p_memsz = (uint64_t)1 << 62);
  BROKEN("wide-memsz", segment(PT_LOAD, 3)->p_memsz = (uint64_t)64 << 30);
  BROKEN("filesz-beyond", segment(PT_LOAD, 1)->p_filesz = segment(PT_LOAD, 1)->p_memsz = (uint64_t)1 << 30);
  BROKEN("filesz-above-memsz", segment(PT_LOAD, 1)->p_memsz = 1);
  BROKEN("offset-beyond", segment(PT_LOAD, 1)->p_offset = (uint64_t)1 << 40);
  BROKEN("negative-address", segment(PT_LOAD, 1)->p_vaddr = UINT64_MAX - 0xfff);
  BROKEN("overlapping", segment(PT_LOAD, 2)->p_vaddr = 0);
  BROKEN("alignment", segment(PT_LOAD, 1)->p_align = 3);
  BROKEN("writable-code", segment(PT_LOAD, 1)->p_flags = PF_R | PF_W | PF_X);
  BROKEN("no-load", segment(PT_LOAD, 0)->p_type = PT_NULL);
  BROKEN("no-dynamic", segment(PT_DYNAMIC, 0)->p_type = PT_NULL);
  BROKEN("dynamic-beyond", segment(PT_DYNAMIC, 0)->p_vaddr = (uint64_t)1 << 40);
  BROKEN("stack-executable", segment(PT_GNU_STACK, 0)->p_flags = PF_R | PF_W | PF_X);
}
