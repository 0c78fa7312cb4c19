/* Tells the host where a plugin crashed. */
#ifndef OL_CRASH_H
#define OL_CRASH_H

/* Installs handlers for SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT and SIGSYS that write where it crashed (a message of
   kind `site`, see HostProtocol/RunnerMessage) and then up to 32 frames of the stack (`frame`), the innermost first, to
   `channel`, and let the signal take its course. The stack of the calling thread overflows into a separate one. 0 or an
   errno value. */
int ol_install_crash_handlers(int channel, unsigned char site, unsigned char frame);

#endif
