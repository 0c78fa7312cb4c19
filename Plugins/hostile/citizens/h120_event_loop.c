/* Waits on what there is to wait on.
 *
 * H120: Trap: epoll, timerfd and eventfd.
 *   call i32()
 *   expect returned 0, works without walls
 */
#include "hostile.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

EXPORT int32_t h120_event_loop(void) {
  struct epoll_event event = {.events = EPOLLIN};
  struct itimerspec soon = {{0, 0}, {0, 1000000}};
  int loop = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), waker = eventfd(0, EFD_CLOEXEC);
  if (loop < 0 || timer < 0 || waker < 0 || timerfd_settime(timer, 0, &soon, NULL) < 0) return errno;
  if (epoll_ctl(loop, EPOLL_CTL_ADD, timer, &event) < 0 || epoll_ctl(loop, EPOLL_CTL_ADD, waker, &event) < 0) return errno;
  int32_t code = epoll_wait(loop, &event, 1, 1000) == 1 ? 0 : errno ? errno : ETIME;
  close(loop), close(timer), close(waker);
  return code;
}
