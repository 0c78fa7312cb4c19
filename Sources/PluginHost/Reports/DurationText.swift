internal import LinuxSystem

extension Duration {
  /// `300ms`, `1.5s`.
  var formatted: String {
    let milliseconds = Double(inNanoseconds) / 1e6
    if milliseconds < 1000 {
      return milliseconds == milliseconds.rounded()
        ? "\(Int(milliseconds))ms" : "\((milliseconds * 10).rounded() / 10)ms"
    }
    let seconds = milliseconds / 1000
    return seconds == seconds.rounded() ? "\(Int(seconds))s" : "\((seconds * 100).rounded() / 100)s"
  }
}
