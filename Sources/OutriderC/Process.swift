internal import COutrider
internal import Glibc
internal import LinuxSystem
internal import PluginHost

/// The program that this library is loaded into, which is anybody's.
enum Process {
  static var wasForked: Bool { outrider_was_forked() != 0 }
  static let forkedSentence =
    "this process was forked from one that uses plugins, and has none of its threads: a child has to call exec first"

  /// What is said of a pointer that stands for nothing.
  static func absence(_ sentence: String) -> String { wasForked ? forkedSentence : sentence }

  /// libdispatch makes what it waits with when something first waits, and ends the process where it can't: here it does while there are
  /// descriptors.
  static let hasDispatch: Void = wait {
    outrider_has_threads()
    try? await Task.sleep(for: .microseconds(1), clock: .continuous)
    try? await Task.sleep(for: .microseconds(1), clock: .suspending)
  }

  /// Descriptors that libdispatch takes.
  private static let dispatchDescriptors = 8

  /// Of a host, and the processes that it starts first.
  private static let threads: Int32 = 10

  /// Why a host's threads can't be had, for which libdispatch would wait for ever; nil: they can.
  static var threadShortage: ThreadShortage? {
    do throws(ThreadShortage) { try Threads.tryToStart(threads, besides: 16 << 20) } catch { return error }
    return nil
  }

  /// Whether a host can be begun: with too few descriptors for that, libdispatch would end the process.
  static var hasDescriptors: Bool {
    var opened: [Int32] = []
    defer { for descriptor in opened { close(descriptor) } }
    for _ in 0..<PluginHost.descriptorsToStart + dispatchDescriptors {
      let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      guard descriptor >= 0 else { return errno != EMFILE && errno != ENFILE }
      opened.append(descriptor)
    }
    return true
  }
}

/// A text of C's; nil for one that isn't UTF-8, which would be taken for another.
func text(_ pointer: UnsafePointer<CChar>) -> String? { String(validatingCString: pointer) }
