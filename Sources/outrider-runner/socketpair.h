#ifndef SOCKETPAIR_H
#define SOCKETPAIR_H

/* Where a runner that has a network keeps a listener of its own namespace, and what that listens to. The runner puts it there before
   its walls close. */
#define PAIRING_DESCRIPTOR 5
#define PAIRING_ADDRESS 0x7f4dfffeu /* 127.77.255.254 */
#define PAIRING_PORT 1

/* socketpair(2), for what is loaded into a runner. Connected Unix sockets carry descriptors, which no limit of the plugin's counts
   while they are on their way, so the call itself is refused. Where the run has a network, a pair of SOCK_STREAM is two ends of a TCP
   connection within it: libcurl wakes the threads by it that look names up, and knows no other way. */
int socketpair(int domain, int type, int protocol, int ends[2]);

#endif
