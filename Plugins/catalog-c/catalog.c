/* Keeps recorded talks on the device: reads {"sessions":[{"id","title","url","size","essential"}]} and asks for each file
   that the container doesn't hold yet. The manifest is mapped and never trusted; nothing is allocated. */
#define _XOPEN_SOURCE 700
#include "background_assets_extension.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#define GROUP "group.com.example.sessions"
#define FOLDER "/Library/Caches/Sessions/"
typedef struct { const char *at, *end; } json;
typedef struct { char id[201], url[2048]; int64_t size; int essential; } session;

static ba_status report(const ba_host *host, ba_string subject, ba_string problem) {
  char line[512];
  snprintf(line, sizeof line, "%.*s: %.*s", (int)subject.length, subject.bytes, (int)problem.length, problem.bytes);
  host->log(host, BA_LOG_ERROR, ba_text("com.example.sessions.downloader"), ba_text("catalog"), ba_text(line));
  return BA_FAILED;
}

/* Steps over white space, and over `c` if it comes next. */
static int is(json *j, char c) {
  while (j->at < j->end && (*j->at == ' ' || *j->at == '\n' || *j->at == '\r' || *j->at == '\t')) j->at++;
  return j->at < j->end && *j->at == c ? j->at++, 1 : 0;
}

/* Reads a string. `out` is left empty if it doesn't fit or has an escape that no id and no URL needs. */
static int string(json *j, char *out, size_t capacity) {
  size_t n = 0, fits = 1;
  if (!is(j, '"')) return 0;
  for (; j->at < j->end && *j->at != '"'; j->at++) {
    if (*j->at == '\\' && (++j->at == j->end || !strchr("\"\\/", *j->at))) fits = 0;
    if (j->at == j->end || (unsigned char)*j->at < ' ') return 0;
    if (n + 1 < capacity) out[n++] = *j->at; else fits = 0;
  }
  out[fits ? n : 0] = 0;
  return is(j, '"');
}

/* Steps over any value by counting brackets, so that no nesting is too deep. */
static int skip(json *j) {
  char unused[1];
  size_t depth = 0;
  do {
    if (is(j, '{') || is(j, '[')) depth++;
    else if (depth && (is(j, '}') || is(j, ']'))) depth--;
    else if (depth && (is(j, ',') || is(j, ':'))) continue;
    else if (j->at < j->end && *j->at == '"') { if (!string(j, unused, 1)) return 0; }
    else if (j->at < j->end && *j->at && strchr("-0123456789tfn", *j->at))
      while (j->at < j->end && *j->at && strchr("+-.0123456789Eaeflnrstu", *j->at)) j->at++;
    else return 0;
  } while (depth);
  return 1;
}

static int read_session(json *j, session *s) {
  char key[16];
  memset(s, 0, sizeof *s);
  if (!is(j, '{')) return 0;
  do {
    if (!string(j, key, sizeof key) || !is(j, ':')) return 0;
    const char *value = (is(j, 0), j->at); /* after the white space */
    if (!strcmp(key, "id") ? !string(j, s->id, sizeof s->id)
        : !strcmp(key, "url") ? !string(j, s->url, sizeof s->url) : !skip(j)) return 0;
    if (!strcmp(key, "essential")) s->essential = *value == 't';
    if (!strcmp(key, "size"))
      for (s->size = 0; value < j->at && *value >= '0' && *value <= '9' && s->size < INT64_MAX / 100; value++)
        s->size = s->size * 10 + (*value - '0');
  } while (is(j, ','));
  return is(j, '}');
}

/* Writes where the file of a session belongs; 0 if the name isn't a plain one, or there is no container. */
static int place(const ba_host *host, ba_string id, char *path, size_t capacity) {
  size_t length = 0;
  if (!id.length || id.length > 200 || *id.bytes == '.' || memchr(id.bytes, '/', id.length)) return 0;
  if (host->container_path(host, ba_text(GROUP), path, capacity, &length) != BA_OK || length >= capacity) return 0;
  return (size_t)snprintf(path + length, capacity - length, FOLDER "%.*s", (int)id.length, id.bytes) < capacity - length;
}

static ba_status ask(const ba_host *host, const ba_content_request *request, const session *s) {
  char path[4096];
  const uint32_t flags = s->essential && request->kind <= BA_REQUEST_UPDATE ? BA_DOWNLOAD_ESSENTIAL : 0;
  const ba_download wanted = {sizeof wanted, flags, ba_text(s->id), ba_text(""), ba_text(s->url), ba_text(""), ba_text(""),
                              NULL, 0, ba_text(GROUP), s->size, BA_PRIORITY_DEFAULT, 0, 0};
  if (!*s->url || s->size <= 0 || !place(host, wanted.identifier, path, sizeof path))
    return report(host, wanted.identifier, ba_text("not usable"));
  if (access(path, F_OK) == 0) return BA_OK;
  return host->answer(host, &wanted) == BA_OK ? BA_OK : report(host, wanted.identifier, ba_text("refused by the host"));
}

/* Reads the manifest and, if `request` is given, asks for what is missing; 0 if it is malformed. */
static int scan(const ba_host *host, json j, const ba_content_request *request) {
  char key[16];
  if (!is(&j, '{')) return 0;
  do {
    if (!string(&j, key, sizeof key) || !is(&j, ':')) return 0;
    if (strcmp(key, "sessions") || !is(&j, '[')) { if (!skip(&j)) return 0; continue; }
    for (session s; !is(&j, ']'); is(&j, ',')) {
      if (!read_session(&j, &s)) return 0;
      if (request) ask(host, request, &s);
    }
  } while (is(&j, ','));
  return is(&j, '}');
}

static ba_status content_request(const ba_host *host, const ba_content_request *request) {
  char path[4096], *bytes = MAP_FAILED;
  struct stat info;
  snprintf(path, sizeof path, "%.*s", (int)request->manifest_path.length, request->manifest_path.bytes);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file >= 0 && fstat(file, &info) == 0) bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  json j = {bytes, bytes == MAP_FAILED ? bytes : bytes + info.st_size};
  /* Twice, so that a manifest which breaks off leads to no downloads at all. An empty file can't be mapped. */
  if (bytes == MAP_FAILED || !scan(host, j, NULL))
    return report(host, request->manifest_path, ba_text("the manifest isn't a list of sessions")), BA_OK;
  return scan(host, j, request) ? BA_OK : BA_FAILED; /* file and mapping end with the process */
}

static ba_status download_finished(const ba_host *host, const ba_download *download, const char *file) {
  const ba_string id = download->identifier;
  char path[4096];
  if (!place(host, id, path, sizeof path)) return report(host, id, ba_text("there is no place for it"));
  for (char *slash = strstr(path, FOLDER); slash; *slash = '/', slash = strchr(slash + 1, '/'))
    *slash = 0, mkdir(path, 0755);
  if (host->acquire_exclusive_control(host, INT64_C(10000000000)) != BA_OK) return report(host, id, ba_text("no control"));
  const int moved = rename(file, path) == 0;
  host->release_exclusive_control(host);
  return moved ? BA_OK : report(host, id, ba_text("can't be moved"));
}

static ba_status download_failed(const ba_host *host, const ba_download *download, const ba_error *error) {
  ba_download again = *download;
  report(host, again.identifier, error->description);
  again.flags &= ~BA_DOWNLOAD_ESSENTIAL;
  again.unique_identifier = ba_text("");
  return again.flags == download->flags || again.flags & BA_DOWNLOAD_MANIFEST ? BA_OK : host->schedule(host, &again);
}

BA_EXPORT const ba_extension *background_assets_extension(uint32_t host_abi_version) {
  static const ba_entry_point entries[] = {
    {BA_CONTENT_REQUEST, BA_CONTENT_REQUEST_SIGNATURE, (void (*)(void))content_request},
    {BA_DOWNLOAD_FINISHED, BA_DOWNLOAD_FINISHED_SIGNATURE, (void (*)(void))download_finished},
    {BA_DOWNLOAD_FAILED, BA_DOWNLOAD_FAILED_SIGNATURE, (void (*)(void))download_failed},
  };
  static const ba_extension extension = {sizeof extension, BA_ABI_VERSION, "catalog", entries, 3};
  return host_abi_version >= BA_ABI_VERSION ? &extension : NULL;
}
