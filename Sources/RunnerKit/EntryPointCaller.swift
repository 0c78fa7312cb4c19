internal import AssetModel
internal import CExtension
internal import HostProtocol

/// Turns a call of the protocol into the structures of the ABI and makes it.
struct EntryPointCaller {
  let plugin: LoadedPlugin

  /// nil for a function: that isn't an entry point.
  func call(_ call: HostMessage.Call) -> RunnerMessage? {
    switch call {
    case .contentRequest(let kind, let manifest, let remaining, let essentialRemaining):
      return contentRequest(kind, manifest, remaining, essentialRemaining)
    case .downloadFinished(let download, let path):
      return invoke(BA_DOWNLOAD_FINISHED) { memory in
        [.pointer(memory.place(memory.download(download))), .cstring(Array(path.utf8))]
      }
    case .downloadFailed(let download, let error):
      return invoke(BA_DOWNLOAD_FAILED) { memory in
        [.pointer(memory.place(memory.download(download))), .pointer(memory.place(memory.error(error)))]
      }
    case .authenticationChallenge(let download, let challenge): return ask(download, challenge)
    case .willTerminate: return invoke(BA_WILL_TERMINATE) { _ in [] }
    case .delegate(let call): return tell(call)
    case .function: return nil
    }
  }

  private func contentRequest(
    _ kind: ContentRequestKind, _ manifest: String, _ remaining: Int64, _ essentialRemaining: Int64
  ) -> RunnerMessage {
    HostCallbacks.beginAnswer()
    let message = invoke(BA_CONTENT_REQUEST) { memory in
      let request = ba_content_request(
        size: UInt32(MemoryLayout<ba_content_request>.size), kind: kind.rawValue,
        manifest_path: memory.string(manifest),
        restricted_download_size_remaining: remaining, restricted_essential_download_size_remaining: essentialRemaining)
      return [.pointer(memory.place(request))]
    }
    let answer = HostCallbacks.endAnswer()
    guard case .returned(var result) = message else { return message }
    result.downloads = answer.downloads
    result.refused = answer.refused
    return .returned(result)
  }

  private func ask(_ download: Download, _ challenge: ChallengeDescription) -> RunnerMessage {
    let form = ChallengeForm()
    let message = invoke(BA_AUTHENTICATION_CHALLENGE) { memory in
      [
        .pointer(memory.place(memory.download(download))), .pointer(memory.place(memory.challenge(challenge))),
        .pointer(form.address),
      ]
    }
    guard case .returned(var result) = message else { return message }
    result.decision = form.decision(status: result.value)
    return .returned(result)
  }

  private func tell(_ call: DelegateCall) -> RunnerMessage {
    let form = ChallengeForm()
    var isChallenge = false
    let message = invoke(BA_DELEGATE_EVENT) { memory in
      var event = ba_delegate_event()
      event.size = UInt32(MemoryLayout<ba_delegate_event>.size)
      event.download = .init(bitPattern: UInt(memory.place(memory.download(call.download))))
      switch call {
      case .began: event.kind = BA_EVENT_BEGAN
      case .paused: event.kind = BA_EVENT_PAUSED
      case .progress(_, let written, let expected):
        event.kind = BA_EVENT_PROGRESS
        (event.total_written, event.total_expected) = (written, expected)
      case .challenge(_, let challenge):
        isChallenge = true
        event.kind = BA_EVENT_CHALLENGE
        event.challenge = .init(bitPattern: UInt(memory.place(memory.challenge(challenge))))
        event.answer = .init(bitPattern: UInt(form.address))
      case .failed(_, let error):
        event.kind = BA_EVENT_FAILED
        event.error = .init(bitPattern: UInt(memory.place(memory.error(error))))
      case .finished(_, let path):
        event.kind = BA_EVENT_FINISHED
        event.path = memory.string(path).bytes
      }
      return [.pointer(memory.place(event))]
    }
    guard isChallenge, case .returned(var result) = message else { return message }
    result.decision = form.decision(status: result.value)
    return .returned(result)
  }

  /// Every entry point takes the host first.
  private func invoke(_ name: String, _ arguments: (inout ForeignMemory) -> [CallValue]) -> RunnerMessage {
    guard let entry = plugin.entryPoints.first(where: { $0.name == name }) else { return .entryPointMissing }
    HostCallbacks.beginCall()
    var memory = ForeignMemory()
    defer { memory.release() }
    let host = CallValue.pointer(UInt64(UInt(bitPattern: HostCallbacks.host)))
    let result = FunctionCaller.invoke(
      unsafeBitCast(entry.function, to: UnsafeMutableRawPointer.self), entry.signature, [host] + arguments(&memory))
    return .returned(result)
  }
}

/// What a call borrows to an extension: alive until the entry point has returned.
struct ForeignMemory {
  private var blocks: [UnsafeMutableRawPointer] = []

  mutating func release() {
    for block in blocks { block.deallocate() }
    blocks = []
  }

  mutating func string(_ text: String) -> ba_string { bytes(Array(text.utf8)) }

  /// NUL-terminated beyond its length, for those who forget that it is counted.
  mutating func bytes(_ bytes: [UInt8]) -> ba_string {
    let block = UnsafeMutableRawPointer.allocate(byteCount: bytes.count + 1, alignment: 1)
    bytes.withUnsafeBytes { if let base = $0.baseAddress { block.copyMemory(from: base, byteCount: bytes.count) } }
    block.storeBytes(of: 0, toByteOffset: bytes.count, as: UInt8.self)
    blocks.append(block)
    return ba_string(bytes: UnsafePointer(block.assumingMemoryBound(to: CChar.self)), length: bytes.count)
  }

  mutating func place<T: BitwiseCopyable>(_ value: T) -> UInt64 {
    let block = UnsafeMutableRawPointer.allocate(byteCount: MemoryLayout<T>.size, alignment: 16)
    block.storeBytes(of: value, as: T.self)
    blocks.append(block)
    return UInt64(UInt(bitPattern: block))
  }

  mutating func error(_ value: ErrorDescription) -> ba_error {
    ba_error(
      size: UInt32(MemoryLayout<ba_error>.size), reserved: 0, code: value.code, domain: string(value.domain),
      description: string(value.description))
  }

  mutating func challenge(_ value: ChallengeDescription) -> ba_challenge {
    ba_challenge(
      size: UInt32(MemoryLayout<ba_challenge>.size), port: value.port, host: string(value.host),
      protocol: string(value.protocolName), realm: string(value.realm),
      authentication_method: string(value.authenticationMethod), previous_failure_count: value.previousFailureCount)
  }

  mutating func download(_ value: Download) -> ba_download {
    var flags: UInt32 = 0
    if value.isEssential { flags |= BA_DOWNLOAD_ESSENTIAL }
    if value.isManifest { flags |= BA_DOWNLOAD_MANIFEST }
    if value.fileSize == nil { flags |= BA_DOWNLOAD_SIZE_UNKNOWN }
    var headers: UnsafePointer<ba_header>?
    if !value.headers.isEmpty {
      let block = UnsafeMutableRawPointer.allocate(
        byteCount: MemoryLayout<ba_header>.stride * value.headers.count, alignment: 16)
      blocks.append(block)
      let list = block.bindMemory(to: ba_header.self, capacity: value.headers.count)
      for (index, header) in value.headers.enumerated() {
        list[index] = ba_header(name: string(header.name), value: string(header.value))
      }
      headers = UnsafePointer(list)
    }
    return ba_download(
      size: UInt32(MemoryLayout<ba_download>.size), flags: flags, identifier: string(value.identifier),
      unique_identifier: string(value.uniqueIdentifier), url: string(value.url), http_method: string(value.method),
      http_body: bytes(value.body), http_headers: headers, http_header_count: value.headers.count,
      application_group_identifier: string(value.applicationGroupIdentifier), file_size: value.fileSize ?? 0,
      priority: value.priority, state: value.state, reserved: 0)
  }
}
