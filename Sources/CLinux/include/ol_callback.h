#ifndef OL_CALLBACK_H
#define OL_CALLBACK_H

#include <stdint.h>

/* Functions that a plugin may be given to call: they are part of the program, so that no code is made while a plugin runs.
   For x86-64. */
enum { OL_CALLBACKS = 64 };

/* How one was called: what the registers had in which arguments are passed, and where the others lie. */
struct ol_callback_call {
  uint64_t general[6];
  uint64_t vector[8];
  const uint64_t *_Nonnull stack;
  /* Returned in the registers for integers and for floats. */
  uint64_t result;
};

/* `is_reentered`: one is under way on this thread already, in which a signal handler made this one, or which was jumped out of. */
typedef void (*ol_callback_handler)(uint32_t number, struct ol_callback_call *_Nonnull call, int is_reentered);

/* Who is told of every call, on the caller's thread. */
void ol_set_callback_handler(ol_callback_handler _Nonnull handler);

/* The function with that number; NULL for another number, and where the machine has none. */
void *_Nullable ol_callback(uint32_t number);

#endif
