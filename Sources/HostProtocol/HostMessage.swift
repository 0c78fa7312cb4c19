package import AssetModel

/// What the host says to a runner on the control channel.
package enum HostMessage: Sendable, Equatable {
  /// Every wall is closed and the host's meters are set: load the plugin.
  case load(LoadRequest)
  case call(Call)

  package struct LoadRequest: Sendable, Equatable {
    /// Where the plugin lies in the runner's view.
    package var path: String
    /// What the host hashed: the runner loads nothing else.
    package var device: UInt64
    package var inode: UInt64
    /// Whether the library publishes a table of entry points, or is any library at all (`outrider call`).
    package var isExtension: Bool
    package var bundleIdentifier: String
    package var bundlePath: String
    /// The directories of app groups in the runner's view; the group "" stands for every group.
    package var containers: [Container]

    package struct Container: Sendable, Equatable {
      package var group: String
      package var path: String

      package init(group: String, path: String) {
        self.group = group
        self.path = path
      }
    }

    package init(
      path: String, device: UInt64, inode: UInt64, isExtension: Bool, bundleIdentifier: String, bundlePath: String,
      containers: [Container]
    ) {
      self.path = path
      self.device = device
      self.inode = inode
      self.isExtension = isExtension
      self.bundleIdentifier = bundleIdentifier
      self.bundlePath = bundlePath
      self.containers = containers
    }
  }

  package enum Call: Sendable, Equatable {
    case contentRequest(kind: ContentRequestKind, manifest: String, remaining: Int64, essentialRemaining: Int64)
    case downloadFinished(Download, path: String)
    case downloadFailed(Download, ErrorDescription)
    case authenticationChallenge(Download, ChallengeDescription)
    case function(symbol: String, signature: String, arguments: [CallValue])
    case willTerminate
    case delegate(DelegateCall)

    /// What is called.
    package var name: String {
      if case .function(let symbol, _, _) = self { symbol } else { entryPoint ?? "" }
    }

    /// Whether the status that it returns is worth a line: progress comes ten times a second.
    package var isReported: Bool {
      switch self {
      case .delegate(.began), .delegate(.paused), .delegate(.progress): false
      default: true
      }
    }

    /// The entry point's name in the plugin's table; nil for a function.
    package var entryPoint: String? {
      switch self {
      case .contentRequest: "content_request"
      case .downloadFinished: "download_finished"
      case .downloadFailed: "download_failed"
      case .authenticationChallenge: "authentication_challenge"
      case .willTerminate: "will_terminate"
      case .delegate: "delegate_event"
      case .function: nil
      }
    }
  }

  package func frame(id: UInt64) -> Frame {
    var writer = ByteWriter()
    let kind: UInt8
    switch self {
    case .load(let request):
      kind = 1
      writer.string(request.path)
      writer.integer(request.device)
      writer.integer(request.inode)
      writer.boolean(request.isExtension)
      writer.string(request.bundleIdentifier)
      writer.string(request.bundlePath)
      writer.array(request.containers) { writer, container in
        writer.string(container.group)
        writer.string(container.path)
      }
    case .call(.contentRequest(let request, let manifest, let remaining, let essentialRemaining)):
      kind = 2
      writer.integer(request.rawValue)
      writer.string(manifest)
      writer.integer(remaining)
      writer.integer(essentialRemaining)
    case .call(.downloadFinished(let download, let path)):
      kind = 3
      writer.download(download)
      writer.string(path)
    case .call(.downloadFailed(let download, let error)):
      kind = 4
      writer.download(download)
      writer.error(error)
    case .call(.function(let symbol, let signature, let arguments)):
      kind = 5
      writer.string(symbol)
      writer.string(signature)
      writer.array(arguments) { $1.write(to: &$0) }
    case .call(.willTerminate):
      kind = 6
    case .call(.authenticationChallenge(let download, let challenge)):
      kind = 7
      writer.download(download)
      writer.challenge(challenge)
    case .call(.delegate(let call)):
      kind = 8
      writer.delegateCall(call)
    }
    return Frame(kind: kind, id: id, payload: writer.bytes)
  }

  package init(_ frame: Frame) throws(ProtocolViolation) {
    var reader = ByteReader(frame.payload)
    switch frame.kind {
    case 1:
      self = .load(
        LoadRequest(
          path: try reader.string(), device: try reader.integer(), inode: try reader.integer(),
          isExtension: try reader.boolean(), bundleIdentifier: try reader.string(), bundlePath: try reader.string(),
          containers: try reader.array { (reader) throws(ProtocolViolation) in
            LoadRequest.Container(group: try reader.string(), path: try reader.string())
          }))
    case 2:
      let raw: Int32 = try reader.integer()
      guard let request = ContentRequestKind(rawValue: raw) else { throw .unexpected("content request \(raw)") }
      self = .call(
        .contentRequest(
          kind: request, manifest: try reader.string(), remaining: try reader.integer(),
          essentialRemaining: try reader.integer()))
    case 3: self = .call(.downloadFinished(try reader.download(), path: try reader.string()))
    case 4: self = .call(.downloadFailed(try reader.download(), try reader.error()))
    case 5:
      self = .call(
        .function(
          symbol: try reader.string(), signature: try reader.string(),
          arguments: try reader.array { (reader) throws(ProtocolViolation) in try CallValue(from: &reader) }))
    case 6: self = .call(.willTerminate)
    case 7: self = .call(.authenticationChallenge(try reader.download(), try reader.challenge()))
    case 8: self = .call(.delegate(try reader.delegateCall()))
    case let other: throw .unknownKind(other)
    }
    try reader.end()
  }
}
