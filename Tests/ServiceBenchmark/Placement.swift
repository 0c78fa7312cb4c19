import Foundation

/// On which processors the threads of a round trip run. Left to itself the kernel has both ends on one processor or on two,
/// as it happens, and a message that wakes an idle processor takes four times as long: two round trips can only be compared
/// where both are placed alike.
enum Placement: CaseIterable {
  case oneProcessor, twoProcessors

  var title: String { self == .oneProcessor ? "on one processor" : "between two processors" }

  /// The first processors that this process may use; nil: there aren't enough.
  var processors: (near: Int, far: Int)? {
    let allowed = Self.allowed
    switch self {
    case .oneProcessor: return allowed.first.map { ($0, $0) }
    case .twoProcessors: return allowed.count > 1 ? (allowed[0], allowed[1]) : nil
    }
  }

  /// Before anything is pinned.
  static let allowed: [Int] = {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") } ?? ""
    return line.drop { $0 != "\t" }.dropFirst().split(separator: ",").flatMap { range -> [Int] in
      let ends = range.split(separator: "-").compactMap { Int($0) }
      return ends.isEmpty ? [] : Array(ends[0]...ends[ends.count - 1])
    }
  }()

  /// A thread by its number, with taskset(1).
  static func pin(_ thread: Int32, to processors: [Int]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/taskset")
    process.arguments = ["-pc", processors.map(String.init).joined(separator: ","), "\(thread)"]
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw BenchmarkWorld.Trouble(description: "taskset failed for thread \(thread)")
    }
  }

  /// Of all processes that can be seen.
  static func threads(named name: String) -> [Int32] {
    numbers(in: "/proc").flatMap { process in
      numbers(in: "/proc/\(process)/task").filter {
        (try? String(contentsOfFile: "/proc/\(process)/task/\($0)/comm", encoding: .utf8)) == "\(name)\n"
      }
    }
  }

  private static func numbers(in folder: String) -> [Int32] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).compactMap { Int32($0) }
  }
}
