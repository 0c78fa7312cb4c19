import Foundation
import Glibc
import ServiceClient
import ServiceProtocol
import TestSupport
import Testing

/// More connections than there are places, and processes of other users.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct HostileCrowdTests {
  private func world() throws -> ServiceWorld {
    let world = try ServiceWorld()
    try world.start()
    return world
  }

  @Test(
    "Of ten thousand connections of one process 256 are taken, the others are told why, and every other process is served"
  )
  func tenThousand() async throws {
    let world = try world()
    // Not in the crowd: it was there before.
    let other = try await world.connect()
    var kept: [HostileClientTests.RawSocket] = []
    var refusals: Set<String> = []
    var refused = 0
    for number in 1...10_000 {
      let socket = try HostileClientTests.RawSocket(world.paths.socket)
      if kept.count < 255 {
        // Who says nothing is cut off after a while, and its place is free.
        try socket.send(.request(id: 1, request: .hello(Hello(role: .operator))))
        kept.append(socket)
      } else {
        refused += 1
        refusals.insert(socket.refusal() ?? "none")
      }
      if number % 1000 == 0 {
        #expect(try await other.request(.apps(app: nil)) == .apps([]))
        let command = try Workspace.run(["apps", "--state", world.state, "--json"])
        #expect(command.status == 0, "\(command.errors)")
      }
    }
    #expect(refused == 9745 && refusals.count == 1, "\(refusals)")
    #expect(refusals.first?.contains("the most that one process may have") == true, "\(refusals)")
    let failure = await #expect(throws: ServiceFailure.self) { _ = try await world.connect() }
    #expect(failure?.code == 56 && failure?.message.contains("the most that one process") == true, "\(failure as Any)")
    kept.removeAll()
    try await world.wait("places are free again") { (try? await world.connect()) != nil }
  }

  @Test("What many connections of a process ask at once is all answered, and another process's requests among it")
  func pipelines() async throws {
    let world = try world()
    let other = try await world.connect()
    let sockets = try (0..<20).map { _ in try HostileClientTests.RawSocket(world.paths.socket) }
    // Short answers and lists, more than the service looks at in one turn and more than it has under way at once.
    let requests: [ClientRequest] = (0..<90).map { number in
      switch number % 3 {
      case 0: .settings
      case 1: .downloads(app: nil)
      default: .log(app: nil, limit: 1)
      }
    }
    let messages: [ClientMessage] =
      [.request(id: 1000, request: .hello(Hello(role: .operator)))]
      + requests.enumerated().map { .request(id: UInt64($0.offset), request: $0.element) }
    let bytes = try messages.flatMap { try FrameCodec.encode($0) }
    for socket in sockets { #expect(socket.sendAll(bytes)) }
    for _ in 0..<20 {
      let command = try Workspace.run(["apps", "--state", world.state, "--json"])
      #expect(command.status == 0, "\(command.errors)")
    }
    #expect(try await other.request(.apps(app: nil)) == .apps([]))
    for socket in sockets { #expect(socket.answered(messages.count) == Set([1000] + (0..<90))) }
  }

  @Test("Answers that weren't asked for don't pile up in the service")
  func answers() async throws {
    let world = try world()
    let rude = try HostileClientTests.RawSocket(world.paths.socket)
    try rude.send(.request(id: 1, request: .hello(Hello(role: .operator))))
    let other = try await world.connect()
    func memory() async throws -> Int64 {
      guard case .status(let status) = try await other.request(.status) else { return 0 }
      #expect(status.version == ProductVersion.text)
      return status.memoryBytes
    }
    let before = try await memory()
    let frame = try FrameCodec.encode(ClientMessage.answer(call: 7, answer: .handled))
    let many = Array(repeating: frame, count: 1000).flatMap(\.self)
    for _ in 0..<60 { #expect(rude.sendAll(many)) }
    let after = try await memory()
    #expect(after - before < 8 << 20, "\(before) \(after)")
  }

  private static let isRoot =
    getuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0 && access("/usr/bin/perl", X_OK) == 0

  /// Connects as another user, asks, and prints what comes back, or the error.
  private func stranger(_ path: String) throws -> String {
    let script = """
      use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die;
      connect($s, pack_sockaddr_un($ARGV[0])) or do { print "refused: $!"; exit };
      $SIG{PIPE} = "IGNORE"; syswrite($s, pack("N", 2) . "{}");
      my $n = sysread($s, my $bytes, 65536); print defined $n ? "read $n" : "reset";
      """
    return try Workspace.run(
      ["--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/perl", "-e", script, path],
      program: "/usr/bin/setpriv"
    ).output
  }

  @Test(
    "Another user can't reach the socket; where its modes were changed, the service turns them away unread",
    .enabled(if: isRoot, "needs root, setpriv and perl"))
  func otherUser() async throws {
    let world = try world()
    let socket = world.paths.socket
    #expect(try stranger(socket) == "refused: Permission denied")
    let folder = (socket as NSString).deletingLastPathComponent
    chmod(folder, 0o755)
    #expect(try stranger(socket) == "refused: Permission denied", "the socket's own mode")
    for path in [world.folder, world.state, folder, socket] { chmod(path, 0o777) }
    let answer = try stranger(socket)
    #expect(answer == "read 0" || answer == "reset", "\(answer)")
    #expect(try await world.connect().request(.apps(app: nil)) == .apps([]))
  }
}
