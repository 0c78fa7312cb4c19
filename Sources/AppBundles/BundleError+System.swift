internal import Glibc
internal import LinuxSystem

extension BundleError {
  @discardableResult
  static func translating<T: ~Copyable>(
    _ subject: String, _ body: () throws(SystemCallError) -> T
  ) throws(BundleError) -> T {
    do throws(SystemCallError) {
      return try body()
    } catch {
      throw BundleError(error, subject: subject)
    }
  }

  init(_ error: SystemCallError, subject: String) {
    let message = SystemCallError.message(error.code)
    switch error.code {
    case ENOSPC, EDQUOT:
      self.init(
        .noSpace, subject, "\(error.call): \(message)", remedy: "make room on its volume, then try again")
    case EROFS:
      self.init(.systemRefused, subject, "\(error.call): \(message)", remedy: "choose a folder that can be written to")
    case ENOENT, ENOTDIR, EACCES, EPERM, ELOOP:
      self.init(.unreadable, subject, "\(error.call): \(message)")
    default:
      self.init(.systemRefused, subject, "\(error.call): \(message)")
    }
  }
}
