internal import ArgumentParser
internal import AssetModel
internal import Basics
internal import DevelopmentOrigin
internal import Foundation
internal import LinuxSystem
internal import Sandbox

struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "Serves a directory over HTTP, well or, by a script, as badly as networks get.",
    usage: "outrider serve [<options>] <directory>",
    discussion: """
      A development origin to try an app against. Ranges, conditional requests, ETag, digests (RFC 9530) and keep-alive \
      work; symbolic links aren't followed. A script says which request meets which fault; Examples/bad-day.yaml shows \
      them all. The base URL is the first line on standard output, one line for each request goes to standard error.

      With --tls the certificate comes from an authority of its own, made at first use. A client trusts it by its file:

        curl --cacert ~/.local/state/outrider/ca/ca.pem https://localhost:8443/

      With --client-certificate it demands a client certificate of that authority; client.pem and \
      client-key.pem, made beside it, are one.

      EXAMPLES
        outrider serve ./assets
        outrider serve ./assets --port 8080 --script Examples/bad-day.yaml
        outrider serve ./assets --tls --name assets.test --port 8443
        outrider serve ./assets --tls --client-certificate
        outrider serve ./assets --auth digest:me:secret --rate-limit 20MB
      """)

  @Argument(help: "The directory to serve.", completion: .directory) var directory: String
  @Option(help: "The port; 0 takes one that is free.") var port: UInt16 = 0
  @Option(help: "The address to listen on.") var address = "127.0.0.1"
  @Flag(help: "HTTPS instead of HTTP.") var tls = false
  @Flag(help: "Clients have to show a certificate of the authority.") var clientCertificate = false
  @Option(help: "A further name or address in the certificate; may be repeated.") var name: [String] = []
  @Option(
    help: "Where the authority lives (default: $XDG_STATE_HOME/outrider/ca or ~/.local/state/outrider/ca).",
    completion: .directory)
  var caDir: String?
  @Option(help: "A YAML file of faults.", completion: .file(extensions: ["yaml", "yml"])) var script: String?
  @Option(help: "basic:USER:PASSWORD, digest:USER:PASSWORD, digest-md5:USER:PASSWORD or bearer:TOKEN.") var auth:
    String?
  @Option(help: "Bytes a second of each connection, for example 20MB.") var rateLimit: String?
  @Option(help: "ETags: strong, weak or none.", completion: .list(["strong", "weak", "none"])) var etag = "strong"
  @Flag(help: "Print one JSON object on standard output.") var json = false

  struct Facts: Encodable {
    var url: String
    var ca: String?
    var clientCertificate: String?
    var clientKey: String?
    var pid: Int32
  }

  func run() async {
    do {
      let (configuration, authority, client) = try makeConfiguration()
      let origin: Origin
      do throws(OriginError) {
        origin = try Origin(configuration)
      } catch {
        throw Failure(error.exitStatus, "\(error)")
      }
      Interrupts.onInterrupt { origin.stop() }
      if json {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let facts = Facts(
          url: origin.url + "/", ca: authority?.path, clientCertificate: client?.certificate, clientKey: client?.key,
          pid: getpid())
        Output.line(JSONText.escaped(String(decoding: try encoder.encode(facts), as: UTF8.self)))
      } else {
        Output.line(origin.url + "/")
      }
      fflush(nil)
      // Nobody would know where it is.
      if Output.hasLostResult { Exit.leave(0) }
      if let path = authority?.path {
        Output.note("CA: \(path); trust it for one call: curl --cacert \(path) \(origin.url)/")
      }
      if let client {
        Output.note(
          "client: \(client.certificate); show it: outrider fetch --cert \(client.certificate) --key \(client.key)")
      }
      while true { try await Task.sleep(for: .seconds(86_400)) }
    } catch {
      Exit.with(error)
    }
  }

  private typealias Client = (certificate: String, key: String)

  private func makeConfiguration() throws -> (OriginConfiguration, CertificateAuthority?, Client?) {
    var configuration = OriginConfiguration()
    configuration.directory = directory
    configuration.address = address
    configuration.port = port
    // No caller asks a command for its records.
    configuration.maxRecords = 0
    if let script { configuration.script = try Self.readScript(script) }
    if let auth {
      guard let authentication = Authentication(auth) else {
        throw Failure(
          64, "--auth is basic:USER:PASSWORD, digest:USER:PASSWORD, digest-md5:USER:PASSWORD or bearer:TOKEN")
      }
      configuration.authentication = authentication
    }
    if let rateLimit {
      guard let rate = Quantity.bytes(rateLimit) else {
        throw Failure(64, "--rate-limit '\(rateLimit)' isn't a size, for example 20MB")
      }
      configuration.bytesPerSecond = rate
    }
    guard let kind = ETagKind(rawValue: etag) else { throw Failure(64, "--etag '\(etag)' is strong, weak or none") }
    configuration.etag = kind
    configuration.onResponse = { response in
      let line = [
        Printable.text(response.request?.method ?? "-", limit: 32),
        Printable.text(response.request?.target ?? "-", limit: 300),
        "\(response.status)", "\(response.bytes)", response.fault.map { Printable.text($0, limit: 100) } ?? "",
      ]
      Output.note(line.joined(separator: " ").trimmingCharacters(in: .whitespaces))
    }
    guard tls else {
      guard name.isEmpty, caDir == nil, !clientCertificate else {
        throw Failure(64, "--name, --ca-dir and --client-certificate need --tls")
      }
      if let script, Self.hasCertificateFaults(configuration.script) {
        Output.note(
          "--script \(Printable.text(script)): its certificate faults need --tls; without it those connections are served as any others"
        )
      }
      return (configuration, nil, nil)
    }
    let directory = caDir ?? CertificateAuthority.defaultDirectory
    do throws(OriginError) {
      let authority = try CertificateAuthority(directory: directory)
      try authority.storeRevocationList(in: directory)
      configuration.tls = TLSOptions(authority)
      configuration.tls?.names = name
      configuration.tls?.demandsClientCertificate = clientCertificate
      return (configuration, authority, clientCertificate ? try authority.storeClient(in: directory) : nil)
    } catch {
      throw Failure(70, "the certificate authority in \(directory): \(error); --ca-dir names another folder")
    }
  }

  private static func hasCertificateFaults(_ script: FaultScript) -> Bool {
    script.connections.contains { rule in
      if case .certificate = rule.action { true } else { false }
    }
  }

  private static func readScript(_ path: String) throws -> FaultScript {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw Failure(
        66, "--script \(path): \(InputFile.problem(path) ?? "can't be read"); Examples/bad-day.yaml is a script")
    }
    do {
      return try FaultScript(parsing: String(decoding: data, as: UTF8.self), file: path)
    } catch {
      throw Failure(64, "\(error)")
    }
  }
}

extension OriginError {
  fileprivate var exitStatus: Int32 {
    switch self {
    case .notAnAddress, .addressUnavailable, .portInUse, .tls: 64
    case .directory: 66
    case .system: 70
    }
  }
}
