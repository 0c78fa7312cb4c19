internal import Foundation

/// The state of the command line's own downloads.
enum FetchState {
  static func directory(_ chosen: String?) throws -> String {
    if let chosen { return try FetchPath.absolute(chosen, "--state \(chosen)") }
    let home = getpwuid(geteuid()).flatMap { $0.pointee.pw_dir }.map { String(cString: $0) }
    guard let base = base(ProcessInfo.processInfo.environment, accountHome: home) else {
      throw Failure(64, "neither XDG_STATE_HOME nor HOME is an absolute path; name a folder with --state")
    }
    return "\(base)/outrider/fetch"
  }

  /// Foundation asks the account for its home, whatever HOME says; everybody else asks HOME first.
  static func base(_ environment: [String: String], accountHome: String?) -> String? {
    if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return state }
    let homes = [environment["HOME"], accountHome].compactMap { $0 }
    return homes.first { $0.hasPrefix("/") }.map { "\($0)/.local/state" }
  }
}
