internal import Glibc
internal import LinuxSystem

/// Whose doing it is that a finished file can't be put into a plugin's container, which the plugin may change at any moment.
struct HandOverFailure {
  enum Step: CaseIterable {
    /// Looking at the file that is to be handed over.
    case file
    /// Opening the container.
    case container
    /// Everything below it: the host's own folder there, and the copy in it.
    case folder
  }

  var step: Step
  var error: SystemCallError
  /// The file that is to be handed over, and the container, as the caller named them.
  var file: String
  var container: String

  /// The copy itself fails for the file's sake with these (sendfile(2)).
  private static let ofTheFile: Set<Int32> = [EIO, EINVAL, EOVERFLOW]
  /// Errors of a full or read-only volume, which aren't the plugin's fault.
  private static let ofTheVolume: Set<Int32> = [ENOSPC, EDQUOT, EFBIG, EROFS]

  var hostError: HostError {
    let message = SystemCallError.message(error.code)
    if OpenFiles.isExhausted(error.code) {
      return .exhausted(DescriptorBudget.sentence(limit: OpenFiles.limit, needed: nil))
    }
    if step == .file || error.call == "sendfile" && Self.ofTheFile.contains(error.code) {
      return .input("\(file): \(message)")
    }
    let start = "\(file) can't be handed over"
    if Self.ofTheVolume.contains(error.code) { return .handOver("\(start): \(message) in the container \(container)") }
    switch step {
    case .container where error.code == ESTALE || error.code == ENOENT:
      return .handOver(
        "\(start): the container \(container) was replaced while the plugin ran; nothing is wrong with the file")
    case .file, .container: return .handOver("\(start): the container \(container): \(message)")
    case .folder:
      return .handOver(
        "\(start): the plugin has changed \(container)/\(IncomingFolder.name), or the folder around it, where finished files are put (\(message)); nothing is wrong with the file"
      )
    }
  }
}
