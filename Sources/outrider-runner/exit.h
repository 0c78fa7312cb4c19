#ifndef EXIT_H
#define EXIT_H

/* exit(3), _exit(2) and quick_exit(3), for what is loaded into a runner: its host is told who called them. Libraries end the process
   that they are in where they know no other way, as libjpeg does. */
_Noreturn void exit(int status);
_Noreturn void _exit(int status);
_Noreturn void _Exit(int status);
_Noreturn void quick_exit(int status);

#endif
