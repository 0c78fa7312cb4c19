#ifndef OL_WORKER_H
#define OL_WORKER_H

/* libdispatch looks whether the workers of a busy queue run or sleep, in /proc/THREAD/stat, and ends the process if it can't. */

/* The thread whose file a path is; 0: it is no such file. */
int ol_worker_of(const char *path);

/* Opens such a file for a process that has no descriptor left (EMFILE of open(2)): another thread may close one soon, and until then it
   waits, some ten seconds at most. A descriptor, or -1 and errno; EMFILE at once for any other file. */
int ol_open_worker(const char *path, int flags);

#endif
