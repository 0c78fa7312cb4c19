/// A plugin that uses whatever network it has, and tries to use more.
enum NetworkPlugin {
  static let source = """
    #define _GNU_SOURCE
    #include <arpa/inet.h>
    #include <errno.h>
    #include <fcntl.h>
    #include <netdb.h>
    #include <netinet/in.h>
    #include <netinet/tcp.h>
    #include <poll.h>
    #include <stdio.h>
    #include <string.h>
    #include <sys/socket.h>
    #include <unistd.h>

    static int opened(const char *host, int port) {
      char service[16];
      snprintf(service, sizeof service, "%d", port);
      struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
      int code = getaddrinfo(host, service, &hints, &found);
      if (code) return -1000 + code;
      int end = socket(found->ai_family, SOCK_STREAM, 0);
      if (end >= 0 && connect(end, found->ai_addr, found->ai_addrlen) < 0) {
        int error = errno;
        close(end);
        errno = error;
        end = -1;
      }
      int error = errno;
      freeaddrinfo(found);
      return end < 0 ? -error : end;
    }

    /* 0, -errno, or below -1000 where the name isn't found. */
    long reach(const char *host, int port) {
      int end = opened(host, port);
      if (end < 0) return end;
      close(end);
      return 0;
    }

    /* The first byte of a name's address, or below 0. */
    long lookup(const char *host) {
      struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
      int code = getaddrinfo(host, NULL, &hints, &found);
      if (code) return -1000 + code;
      long first = ((unsigned char *)&((struct sockaddr_in *)found->ai_addr)->sin_addr)[0];
      freeaddrinfo(found);
      return first;
    }

    /* Bytes of an answer. */
    long fetch(const char *host, int port) {
      int end = opened(host, port);
      if (end < 0) return end;
      char text[4096] = "GET / HTTP/1.0\\r\\n\\r\\n";
      long total = 0;
      ssize_t count = send(end, text, strlen(text), MSG_NOSIGNAL);
      while (count >= 0 && (count = recv(end, text, sizeof text, 0)) > 0) total += count;
      if (count < 0) total = -errno;
      close(end);
      return total;
    }

    long make(int family, int type, int protocol) {
      int end = socket(family, type, protocol);
      if (end < 0) return -errno;
      close(end);
      return 0;
    }

    /* Each on a TCP socket of its own: bind, listen, SO_SNDBUF, and connect to a Unix socket. */
    long misuse(int which, int port) {
      int end = socket(AF_INET, SOCK_STREAM, 0), size = 1 << 24, result;
      if (end < 0) return -errno;
      struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
      struct { sa_family_t family; char path[32]; } machine = {AF_UNIX, "\\0machine"};
      switch (which) {
      case 0: result = bind(end, (struct sockaddr *)&place, sizeof place); break;
      case 1: result = listen(end, 16); break;
      case 2: result = setsockopt(end, SOL_SOCKET, SO_SNDBUF, &size, sizeof size); break;
      case 3: result = connect(3, (struct sockaddr *)&machine, sizeof machine); break;
      case 4: result = (int)sendto(end, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, (struct sockaddr *)&place, sizeof place); break;
      default: result = setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)); break;
      }
      result = result < 0 ? -errno : 0;
      close(end);
      return result;
    }

    /* How many of so many connections were made, one after the other or all at once. */
    long many(int port, int count, int keeps) {
      long made = 0;
      for (int index = 0; index < count; index++) {
        int end = opened("127.0.0.1", port);
        if (end < 0) continue;
        made++;
        if (!keeps) close(end);
      }
      return made;
    }

    /* Different places that nothing is known of. */
    long scan(int count) {
      for (int index = 0; index < count; index++) {
        int end = socket(AF_INET, SOCK_STREAM, 0);
        struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons((unsigned short)(index % 60000 + 1)),
                                    .sin_addr = {htonl(0x0a000000u + (unsigned)index)}};
        if (connect(end, (struct sockaddr *)&place, sizeof place) == 0) return index;
        close(end);
      }
      return -1;
    }

    long pour(int port) {
      int end = opened("127.0.0.1", port);
      char text[65536] = "x";
      while (end >= 0 && send(end, text, sizeof text, MSG_NOSIGNAL) > 0) {}
      return end;
    }

    long keep(int port) {
      int end = opened("127.0.0.1", port);
      return end >= 0 && send(end, "x", 1, MSG_NOSIGNAL) == 1 ? 0 : -errno;
    }

    long pairs(int count) {
      for (int index = 0; index < count; index++) {
        int ends[2];
        char text[4] = "";
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0) return -errno;
        if (!(fcntl(ends[0], F_GETFL) & O_NONBLOCK) || !(fcntl(ends[1], F_GETFL) & O_NONBLOCK)) return -2000;
        for (int side = 0; side < 2; side++) {
          if (send(ends[side], "abc", 3, 0) != 3) return -3000;
          struct pollfd wanted = {ends[!side], POLLIN, 0};
          if (poll(&wanted, 1, 10000) != 1 || recv(ends[!side], text, sizeof text, 0) != 3) return -4000;
        }
        close(ends[0]);
        if (recv(ends[1], text, 1, 0) != 0) { struct pollfd end = {ends[1], POLLIN, 0}; if (poll(&end, 1, 10000) != 1) return -5000; }
        close(ends[1]);
      }
      return 0;
    }
    """

  /// Uses the real libcurl, which looks names up in a thread of its own.
  static let curl = """
    #include <curl/curl.h>
    static size_t take(char *bytes, size_t size, size_t count, void *total) {
      (void)bytes;
      *(long *)total += (long)(size * count);
      return size * count;
    }
    long get(const char *url) {
      CURL *handle = curl_easy_init();
      long total = 0;
      if (!handle) return -1000;
      curl_easy_setopt(handle, CURLOPT_URL, url);
      curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take);
      curl_easy_setopt(handle, CURLOPT_WRITEDATA, &total);
      CURLcode code = curl_easy_perform(handle);
      curl_easy_cleanup(handle);
      return code ? -(long)code : total;
    }
    """
}
