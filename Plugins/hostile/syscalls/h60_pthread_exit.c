/* Ends the thread that was called.
 *
 * H60: The thread that was called ends; never success.
 *   call void()
 *   with --wall 1s
 *   expect crashed|protocolViolation|wallTimeExceeded, denied *
 */
#include "hostile.h"

#include <pthread.h>

EXPORT void h60_pthread_exit(void) { pthread_exit(NULL); }
