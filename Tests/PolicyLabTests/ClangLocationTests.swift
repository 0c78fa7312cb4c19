import Foundation
import Testing

@testable import PolicyLab

/// Where libclang is looked for.
@Suite(.timeLimit(.minutes(1))) struct ClangLocationTests {
  @Test("a library without its compiler's headers isn't taken") func headless() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("outrider-clang-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let headers = folder.appendingPathComponent("clang/99/include")
    try FileManager.default.createDirectory(at: headers, withIntermediateDirectories: true)
    let library = folder.appendingPathComponent("libclang.so.99").path
    try Data().write(to: URL(fileURLWithPath: library))
    func find() -> ClangLocation? { ClangLocation.find { $0 == "OUTRIDER_LIBCLANG" ? library : nil } }
    #expect(find() == nil)
    try Data().write(to: headers.appendingPathComponent("stddef.h"))
    let found = try #require(find())
    #expect(found.library == library && found.headers == headers.path)
    #expect(ClangLocation.find { $0 == "OUTRIDER_LIBCLANG" ? library + "1" : nil } == nil)
  }
}
