internal import AssetModel
internal import CExtension
internal import Glibc
internal import HostProtocol

/// The `ba_challenge_answer` that an extension fills in; wiped when it goes. What it says at first is B72's neutral answer.
struct ChallengeForm: ~Copyable {
  private static let size = MemoryLayout<ba_challenge_answer>.size

  private let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)

  init() {
    memset(memory, 0, Self.size)
    memory.storeBytes(of: UInt32(Self.size), as: UInt32.self)
    store(BA_PERFORM_DEFAULT_HANDLING)
  }

  deinit {
    explicit_bzero(memory, Self.size)
    memory.deallocate()
  }

  var address: UInt64 { UInt64(UInt(bitPattern: memory)) }

  /// An answer that is none cancels: a credential that arrives in part must not be tried.
  func decision(status: CallValue) -> ChallengeDecision {
    guard let disposition = ChallengeDecision.Disposition(rawValue: load()) else { return ChallengeDecision(.cancel) }
    guard disposition == .useCredential else { return ChallengeDecision(disposition) }
    guard status == .signed(Int64(BA_OK)),
      let user = text(at: \.user, capacity: 256), let password = text(at: \.password, capacity: 1024),
      let credential = ChallengeDecision.Credential(user: user, password: password)
    else { return ChallengeDecision(.cancel) }
    return ChallengeDecision(.useCredential, user.isEmpty && password.isEmpty ? nil : credential)
  }

  private static let dispositionOffset = MemoryLayout<ba_challenge_answer>.offset(of: \.disposition) ?? 0

  private func store(_ disposition: Int32) {
    memory.storeBytes(of: disposition, toByteOffset: Self.dispositionOffset, as: Int32.self)
  }

  private func load() -> Int32 { memory.load(fromByteOffset: Self.dispositionOffset, as: Int32.self) }

  /// nil where it isn't terminated, or isn't UTF-8.
  private func text(at member: PartialKeyPath<ba_challenge_answer>, capacity: Int) -> String? {
    guard let offset = MemoryLayout<ba_challenge_answer>.offset(of: member) else { return nil }
    let bytes = UnsafeRawBufferPointer(start: memory + offset, count: capacity)
    guard let end = bytes.firstIndex(of: 0) else { return nil }
    return String(validating: bytes[..<end], as: UTF8.self)
  }
}
