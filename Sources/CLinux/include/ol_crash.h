/* Tells the host where a plugin crashed, and where its threads were when its time was over. */
#ifndef OL_CRASH_H
#define OL_CRASH_H

/* Asks a thread of the runner where it is. Ignored by processes without a handler for it, and sent by the kernel only to those
   that have asked for it (F_SETOWN). */
#define OL_WHERE_SIGNAL 23 /* SIGURG */

/* The kinds of the messages (HostProtocol/RunnerMessage). */
struct ol_stack_messages {
  /* Where it crashed, and one frame of the stack of that. */
  unsigned char site, frame;
  /* One frame of a thread's stack, and that all of that thread's are told. */
  unsigned char thread_frame, thread_told;
};

/* Does once what the handlers do, and sends nothing: a function of a library is looked up at its first call, by lists of the
   loader's that a plugin may have written over by the time that a crash is told. For processes that are forked later. */
void ol_rehearse_crash(void);

/* Installs handlers for SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT and SIGSYS that write where it crashed and then up to
   32 frames of the stack, the innermost first, to `channel`, and let the signal take its course; and one for OL_WHERE_SIGNAL
   that writes the stack of the thread that it is sent to by another process, and keeps that thread. The stack of the calling
   thread overflows into a separate one. 0 or an errno value. */
int ol_install_stack_handlers(int channel, struct ol_stack_messages messages);

/* Writes who ends the process, and its callers, as a site without a signal: nothing where that is the runner, or a crash is under
   way. `caller`: the address that the function which ends it would return to. */
void ol_tell_exit(const void *caller);

#endif
