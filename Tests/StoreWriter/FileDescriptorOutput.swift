import Glibc

enum FileDescriptorOutput {
  struct Closed: Error {}

  static func write(_ text: String) throws {
    var text = text
    guard text.withUTF8({ Glibc.write(1, $0.baseAddress, $0.count) }) > 0 else { throw Closed() }
  }
}
