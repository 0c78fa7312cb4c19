/* A process that shares all memory, as a thread does, but isn't one.
 *
 * H56: No process that shares memory like a thread.
 *   call i32()
 *   expect returned 1, denied clone, works without walls
 */
#include "shared.h"

#include <spawn.h>

EXPORT int32_t h56_clone_vm(void) {
  static char stack[65536] __attribute__((aligned(16)));
  long child;
  /* The child has this stack and leaves at once. */
  __asm__ volatile("syscall\n\ttest %%rax,%%rax\n\tjnz 1f\n\tmov $60,%%eax\n\txor %%edi,%%edi\n\tsyscall\n1:"
                   : "=a"(child)
                   : "a"(SYS_clone), "D"(CLONE_VM | SIGCHLD), "S"(stack + sizeof stack), "d"(0)
                   : "rcx", "r11", "memory");
  if (child < 0) return (int32_t)-child;
  waitpid((pid_t)child, NULL, 0);
  return 0;
}
