#include "ol_callback.h"

#include <errno.h>
#include <stddef.h>

static ol_callback_handler told;
static _Thread_local volatile int is_under_way;

void ol_set_callback_handler(ol_callback_handler handler) { told = handler; }

#if defined(__x86_64__)

enum { ENTRY_SIZE = 16 };

_Static_assert(offsetof(struct ol_callback_call, vector) == 48, "the code below knows it");
_Static_assert(offsetof(struct ol_callback_call, stack) == 112, "the code below knows it");
_Static_assert(offsetof(struct ol_callback_call, result) == 120, "the code below knows it");
_Static_assert(OL_CALLBACKS == 64, "the code below knows it");

/* A library doesn't expect that what it calls changes errno. */
__attribute__((used, visibility("hidden"))) void ol_callback_enter(uint32_t number, struct ol_callback_call *call) {
  int before = errno;
  int is_reentered = is_under_way;
  is_under_way = 1;
  if (told) told(number, call, is_reentered);
  is_under_way = is_reentered;
  errno = before;
}

/* Each entry says its number in a register that no argument is passed in. */
__asm__(
    ".text\n"
    ".balign 16\n"
    ".type ol_callback_entries, @function\n"
    ".hidden ol_callback_entries\n"
    ".globl ol_callback_entries\n"
    "ol_callback_entries:\n"
    ".set ol_number, 0\n"
    ".rept 64\n"
    ".balign 16\n"
    "endbr64\n"
    "movl $ol_number, %r11d\n"
    "jmp ol_callback_common\n"
    ".set ol_number, ol_number + 1\n"
    ".endr\n"
    ".size ol_callback_entries, .-ol_callback_entries\n"
    ".balign 16\n"
    ".type ol_callback_common, @function\n"
    "ol_callback_common:\n"
    ".cfi_startproc\n"
    "pushq %rbp\n"
    ".cfi_def_cfa_offset 16\n"
    ".cfi_offset %rbp, -16\n"
    "movq %rsp, %rbp\n"
    ".cfi_def_cfa_register %rbp\n"
    "subq $128, %rsp\n"
    "movq %rdi, 0(%rsp)\n"
    "movq %rsi, 8(%rsp)\n"
    "movq %rdx, 16(%rsp)\n"
    "movq %rcx, 24(%rsp)\n"
    "movq %r8, 32(%rsp)\n"
    "movq %r9, 40(%rsp)\n"
    "movq %xmm0, 48(%rsp)\n"
    "movq %xmm1, 56(%rsp)\n"
    "movq %xmm2, 64(%rsp)\n"
    "movq %xmm3, 72(%rsp)\n"
    "movq %xmm4, 80(%rsp)\n"
    "movq %xmm5, 88(%rsp)\n"
    "movq %xmm6, 96(%rsp)\n"
    "movq %xmm7, 104(%rsp)\n"
    "leaq 16(%rbp), %rax\n"
    "movq %rax, 112(%rsp)\n"
    "movq $0, 120(%rsp)\n"
    "movl %r11d, %edi\n"
    "movq %rsp, %rsi\n"
    "call ol_callback_enter\n"
    "movq 120(%rsp), %rax\n"
    "movq 120(%rsp), %xmm0\n"
    "leave\n"
    ".cfi_def_cfa %rsp, 8\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size ol_callback_common, .-ol_callback_common\n");

extern const char ol_callback_entries[];

void *ol_callback(uint32_t number) {
  return number < OL_CALLBACKS ? (void *)(ol_callback_entries + (size_t)number * ENTRY_SIZE) : NULL;
}

#else

void *ol_callback(uint32_t number) {
  (void)number;
  return NULL;
}

#endif
