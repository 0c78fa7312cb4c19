import Basics
import Foundation
import ServiceProtocol
import Testing

@Suite(.timeLimit(.minutes(2))) struct FrameCodecTests {
  private let message = ClientMessage.request(
    id: 7,
    request: .schedule(
      download: DownloadValue(
        identifier: "talk", uniqueIdentifier: "", url: "https://example.com/talk",
        applicationGroupIdentifier: "group.a",
        fileSize: 12)))

  @Test("A message that arrives byte by byte is the one that was sent")
  func partialFrames() throws {
    var assembler = FrameAssembler()
    let bytes = try FrameCodec.encode(message) + FrameCodec.encode(message)
    var found: [ClientMessage] = []
    for byte in bytes {
      assembler.append(CollectionOfOne(byte))
      while let frame = try assembler.next() { found.append(try FrameCodec.decode(ClientMessage.self, from: frame)) }
    }
    #expect(found == [message, message])
  }

  @Test("A frame that is too long is refused by its length alone")
  func tooLong() throws {
    var assembler = FrameAssembler()
    assembler.append([0x7f, 0xff, 0xff, 0xff])
    #expect(throws: FrameCodec.Violation.tooLong(0x7fff_ffff)) { try assembler.next() }
    assembler = FrameAssembler()
    assembler.append([0, 0, 0, 0])
    #expect(throws: FrameCodec.Violation.empty) { try assembler.next() }
  }

  @Test("What is decoded from mutated frames is a message or a violation, and nothing crashes", arguments: 1...20)
  func mutatedFrames(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let original = try FrameCodec.encode(message)
    for _ in 0..<500 {
      var bytes = original
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: 4..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      var assembler = FrameAssembler()
      assembler.append(bytes)
      guard let frame = try assembler.next() else { continue }
      do { _ = try FrameCodec.decode(ClientMessage.self, from: frame) } catch {
        #expect(error.description.utf8.count < 500)
      }
    }
  }
}

@Suite(.timeLimit(.minutes(2))) struct ServicePathsTests {
  @Test("One folder holds everything when it is named")
  func state() {
    let paths = ServicePaths(environment: ["OUTRIDER_STATE": "/s", "XDG_RUNTIME_DIR": "/run/user/7"], user: 7)
    #expect(paths == ServicePaths(state: "/s"))
    #expect(paths.socket == "/s/run/service.sock")
  }

  @Test("A relative XDG folder counts for nothing, as its specification says")
  func relative() {
    let paths = ServicePaths(environment: ["XDG_RUNTIME_DIR": "run", "HOME": "/home/a"], user: 7)
    #expect(paths.runtime == "/tmp/outrider-service-7")
    #expect(paths.apps == "/home/a/.local/share/outrider/apps")
  }

  @Test("Without HOME the account's home folder counts, and not the root folder")
  func accountHome() {
    for environment in [[:], ["HOME": ""], ["HOME": "a"]] {
      let paths = ServicePaths(environment: environment, user: 7, accountHome: "/home/b")
      #expect(paths.store == "/home/b/.local/state/outrider" && paths.apps == "/home/b/.local/share/outrider/apps")
      #expect(paths.socket == ServicePaths(environment: ["HOME": "/c"], user: 7, accountHome: "/home/b").socket)
    }
  }
}
