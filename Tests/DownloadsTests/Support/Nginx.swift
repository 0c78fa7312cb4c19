import Foundation
import LinuxSystem

/// A real server, on loopback: the files of a folder over http and https.
final class Nginx {
  let root: String
  let port: Int
  let tlsPort: Int
  var authority: String { "\(folder)/ca.pem" }
  private let folder: String
  private let process: pid_t

  /// `directives` go into the `location /` block.
  init(directives: String = "") throws {
    folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-nginx-")
    root = "\(folder)/root"
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder)
    port = try Self.freePort()
    tlsPort = try Self.freePort()
    try Self.run(
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
      "-keyout",
      "\(folder)/key.pem", "-out", "\(folder)/ca.pem", "-subj", "/CN=localhost", "-addext",
      "subjectAltName=DNS:localhost,IP:127.0.0.1")
    try """
    daemon off; master_process off; error_log stderr crit; pid \(folder)/pid; worker_rlimit_nofile 4096;
    events { worker_connections 1024; }
    http {
      access_log off; sendfile on; keepalive_requests 100000;
      client_body_temp_path \(folder)/t1; proxy_temp_path \(folder)/t2; fastcgi_temp_path \(folder)/t3;
      uwsgi_temp_path \(folder)/t4; scgi_temp_path \(folder)/t5;
      server {
        listen 127.0.0.1:\(port); listen 127.0.0.1:\(tlsPort) ssl http2;
        ssl_certificate \(folder)/ca.pem; ssl_certificate_key \(folder)/key.pem;
        root \(root);
        location / { \(directives) }
      }
    }
    """.write(toFile: "\(folder)/nginx.conf", atomically: true, encoding: .utf8)
    process = try Self.spawn("/usr/sbin/nginx", ["-c", "\(folder)/nginx.conf", "-p", folder])
    // Listening is what it does first that can be seen.
    while !Self.accepts(port) || !Self.accepts(tlsPort) {
      if waitpid(process, nil, WNOHANG) != 0 { throw Unexpected("nginx didn't start") }
      usleep(2000)
    }
  }

  /// To be called at the end of a test: until then the server lives.
  func stop() {}

  deinit {
    kill(process, SIGKILL)
    waitpid(process, nil, 0)
    Files.removeTree(folder)
  }

  func url(_ path: String) -> String { "http://127.0.0.1:\(port)/\(path)" }
  func secureURL(_ path: String) -> String { "https://localhost:\(tlsPort)/\(path)" }

  func put(_ name: String, _ data: Data) throws { try data.write(to: URL(fileURLWithPath: "\(root)/\(name)")) }

  private static func spawn(_ program: String, _ arguments: [String]) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for number in [1, 2] as [Int32] { posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_WRONLY, 0) }
    var process: pid_t = 0
    var pointers = ([program] + arguments).map { strdup($0) } + [nil]
    defer { for pointer in pointers { free(pointer) } }
    let code = posix_spawnp(&process, program, &actions, nil, &pointers, environ)
    guard code == 0 else { throw SystemCallError("posix_spawnp", code: code, subject: program) }
    return process
  }

  private static func run(_ program: String, _ arguments: String...) throws {
    let process = try spawn(program, arguments)
    var status: Int32 = 0
    guard waitpid(process, &status, 0) == process, status == 0 else { throw Unexpected("\(program) failed") }
  }

  private static func socketAddress(_ port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return address
  }

  private static func freePort() throws -> Int {
    let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(number) }
    var address = socketAddress(0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let port = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer -> Int in
        guard bind(number, pointer, length) == 0, getsockname(number, pointer, &length) == 0 else { return 0 }
        return Int(in_port_t(bigEndian: UnsafeRawPointer(pointer).load(as: sockaddr_in.self).sin_port))
      }
    }
    guard port > 0 else { throw Unexpected("no free port") }
    return port
  }

  private static func accepts(_ port: Int) -> Bool {
    let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(number) }
    var address = socketAddress(port)
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }
}
