// The names are those of Apple's os.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// Bytes that this process may still take: what the machine has free and, at most, what the process's limit on its address
/// space leaves. The memory limit of a run is the host's affair, which a plugin isn't told. Corresponds to
/// Apple's `os_proc_available_memory`; see getrlimit(2) and sysconf(3).
public func os_proc_available_memory() -> Int {
  var limit = rlimit()
  getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
  let free = sysconf(Int32(_SC_AVPHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE))
  return min(free, Int(clamping: limit.rlim_cur))
}
