internal import Glibc
internal import LinuxSystem

/// Where the runner's executable and the libraries that belong to it lie.
package enum RunnerLocation {
  package static func find(_ configured: String?) throws(HostError) -> String {
    if let configured { return try check(configured) }
    if let path = getenv("OUTRIDER_RUNNER") { return try check(String(cString: path)) }
    guard let own = try? Files.real("/proc/self/exe") else { throw .failed("/proc/self/exe can't be read") }
    for directory in [PluginImage.directory(of: own), PluginImage.directory(of: own) + "/../libexec"] {
      let path = directory + "/outrider-runner"
      if Files.exists(path), let real = try? Files.real(path) { return real }
    }
    throw .failed(
      "no outrider-runner beside \(own) or in ../libexec: build this program on the product PluginHost, which brings it, copy outrider-runner from that build's folder, or name it in OUTRIDER_RUNNER or in the configuration"
    )
  }

  private static func check(_ path: String) throws(HostError) -> String {
    guard let real = try? Files.real(path), access(real, X_OK) == 0 else {
      throw .failed("\(path): no executable runner; OUTRIDER_RUNNER or the configuration's runner names it")
    }
    return real
  }

  static func preload(beside runner: String) -> String? { library("libOutriderPreload.so", beside: runner) }

  package static func library(_ name: String, beside runner: String) -> String? {
    let directory = PluginImage.directory(of: runner)
    return ["\(directory)/\(name)", "\(directory)/../lib/\(name)"].first(where: Files.exists)
  }
}
