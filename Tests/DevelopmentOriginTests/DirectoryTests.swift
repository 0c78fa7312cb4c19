import DevelopmentOrigin
import Foundation
import LinuxSystem
import Testing

@Suite(.timeLimit(.minutes(1))) struct DirectoryTests {
  /// As a build leaves it that sets times by itself: nothing but the inode's own time tells the two files apart.
  @Test func aFileChangedInPlaceIsAnotherVersion() throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-origin-")
    defer { Files.removeTree(folder) }
    let origin = try Origin { $0.directory = folder }
    defer { origin.stop() }
    func put(_ text: String) throws {
      let path = "\(folder)/f"
      if !Files.exists(path) { #expect(FileManager.default.createFile(atPath: path, contents: nil)) }
      let file = try #require(FileHandle(forUpdatingAtPath: path))
      try file.write(contentsOf: Data(text.utf8))
      try file.close()
      try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 1e9)], ofItemAtPath: path)
    }
    func get() -> RawClient.Received { RawClient.get(origin.port, "/f", headers: ["Want-Repr-Digest: sha-256=1"]) }
    try put("AAAA")
    let first = get()
    #expect(get().header("ETag") == first.header("ETag"))
    // The kernel's clock for files ticks some hundred times a second.
    let before = try Files.identity(of: "\(folder)/f").changed
    repeat { try put("BBBB") } while try Files.identity(of: "\(folder)/f").changed == before
    let second = get()
    #expect(first.body == Array("AAAA".utf8) && second.body == Array("BBBB".utf8))
    #expect(first.header("Last-Modified") == second.header("Last-Modified"))
    #expect(first.header("ETag") != second.header("ETag"))
    #expect(first.header("Repr-Digest") != nil && first.header("Repr-Digest") != second.header("Repr-Digest"))
  }

  @Test func aFileThatIsWrittenToWhileItIsSentIsNotSentWhole() throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-origin-")
    defer { Files.removeTree(folder) }
    let origin = try Origin { $0.directory = folder }
    defer { origin.stop() }
    let count = 64 << 20
    try Data(repeating: UInt8(ascii: "A"), count: count).write(to: URL(fileURLWithPath: "\(folder)/f"))
    let client = RawClient(origin.port)
    client.send("GET /f HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    // More than any socket holds is still to come.
    let head = client.receive(count: 1000).text
    #expect(head.hasPrefix("HTTP/1.1 200 "))
    let file = try #require(FileHandle(forUpdatingAtPath: "\(folder)/f"))
    try file.write(contentsOf: Data(repeating: UInt8(ascii: "B"), count: count))
    try file.close()
    #expect(client.receive(seconds: 60).bytes.count < count - 1000)
  }

  @Test func asksForABodyThatWaits() throws {
    let origin = try Origin { $0.resources["/a"] = Resource(.text("hello")) }
    defer { origin.stop() }
    let interim = "HTTP/1.1 100 Continue\r\n\r\n"
    let client = RawClient(origin.port)
    client.send("POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 5\r\n\r\n")
    #expect(client.receive(count: interim.utf8.count, seconds: 5).text == interim)
    client.send("12345GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    let rest = client.receive().text
    #expect(rest.hasPrefix("HTTP/1.1 405 ") && rest.hasSuffix("hello"), "\(rest)")
    // No body, or one that is there already: nothing to wait for.
    for (head, body) in [("Content-Length: 0", ""), ("Content-Length: 2", "12")] {
      let other = RawClient(origin.port)
      other.send("POST /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\n\(head)\r\n\r\n\(body)")
      #expect(other.receive().text.hasPrefix("HTTP/1.1 405 "))
    }
  }
}
