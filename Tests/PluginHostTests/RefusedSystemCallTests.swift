import Glibc
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct RefusedSystemCallTests {
  @Test(
    "a call that the kernel lacks, or that a filter refuses, is told with what helps",
    arguments: [
      ("pidfd_open", ENOSYS, "Linux 5.3"), ("pidfd_open", EPERM, "Linux 5.3"), ("memfd_create", ENOSYS, "Linux 3.17"),
      ("memfd_create", EPERM, "Linux 3.17"), ("pidfd_open", EMFILE, ""), ("memfd_create", ENOMEM, ""),
      ("fork", EPERM, ""),
    ])
  func remedies(call: String, code: Int32, kernel: String) {
    let remedy = RefusedSystemCall.remedy(for: call, code)
    #expect(remedy.isEmpty == kernel.isEmpty, "\(remedy)")
    #expect(kernel.isEmpty || remedy.contains("(\(kernel) has the call)"), "\(remedy)")
  }
}
