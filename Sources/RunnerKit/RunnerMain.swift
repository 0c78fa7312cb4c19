/// What `main` of outrider-runner calls: that program is in C, as is all that it defines in place of the C library.
///
/// - Parameters:
///   - count: Of main.
///   - arguments: Of main; the first is the program's name.
@_cdecl("ol_runner_main")
public func runnerMain(_ count: Int32, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Never {
  ForkServer.main(
    UnsafeBufferPointer(start: arguments, count: Int(count)).dropFirst().compactMap { $0.map { String(cString: $0) } })
}
