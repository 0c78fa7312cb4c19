import AssetModel
import DevelopmentOrigin
import Foundation
import TestSupport
import Testing

/// F-19, as far as a transfer goes: what unpacks archives has the other half of it.
@Suite(.timeLimit(.minutes(2))) struct PackedContentFaultTests {
  /// 128 MiB of zeros, in some 130 KiB.
  private static let bomb: [UInt8] = {
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", "head -c 134217728 /dev/zero | gzip -9"]
    let output = Pipe.own()
    process.standardOutput = output
    try? process.run()
    return [UInt8](output.fileHandleForReading.readDataToEndOfFile())
  }()

  @Test("F-19 what a server packed is never unpacked", arguments: [true, false])
  func bomb(hasDigest: Bool) async throws {
    let packed = Content.bytes(Self.bomb)
    try #require(Self.bomb.count > 100_000 && Self.bomb.count < 1 << 20)
    let trial = try await Trial.run(
      digest: hasDigest ? Trial.digest(packed, count: packed.count) : nil, content: packed
    ) { _, _ in .with { $0.setHeaders = [HeaderField("Content-Encoding", "gzip")] } }
    if hasDigest {
      #expect(trial.isFinished && trial.data?.count == packed.count)
    } else {
      #expect(!trial.isFinished, "it wasn't said that it would come packed")
    }
    #expect(trial.record.receivedBytes < 1 << 20)
  }
}
