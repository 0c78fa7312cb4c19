internal import Basics
internal import COpenSSL
internal import Glibc

/// An endless file of random bytes that any offset can be read from: the AES-128 counter-mode key stream of a seed.
enum PseudoRandom {
  static func fill(_ buffer: UnsafeMutableRawBufferPointer, seed: UInt64, at offset: Int) {
    guard let base = buffer.baseAddress, buffer.count > 0, let context = EVP_CIPHER_CTX_new() else { return }
    defer { EVP_CIPHER_CTX_free(context) }
    var key = [UInt8](repeating: 0, count: 16)
    withUnsafeBytes(of: seed.littleEndian) { for (index, byte) in $0.enumerated() { key[index] = byte } }
    var counter = [UInt8](repeating: 0, count: 16)
    withUnsafeBytes(of: UInt64(offset / 16).bigEndian) {
      for (index, byte) in $0.enumerated() { counter[8 + index] = byte }
    }
    var count: Int32 = 0
    guard EVP_EncryptInit_ex(context, EVP_aes_128_ctr(), nil, key, counter) == 1 else {
      fatalError("OpenSSL has no AES")
    }
    var skipped = [UInt8](repeating: 0, count: 16)
    if offset % 16 > 0 { EVP_EncryptUpdate(context, &skipped, &count, skipped, Int32(offset % 16)) }
    memset(base, 0, buffer.count)
    var done = 0
    while done < buffer.count {
      let step = min(buffer.count - done, 1 << 30)
      let at = (base + done).assumingMemoryBound(to: UInt8.self)
      EVP_EncryptUpdate(context, at, &count, at, Int32(step))
      done += step
    }
  }

  /// A number that looks random and depends on its arguments only (splitmix64 over FNV-1a).
  static func mix(_ seed: UInt64, _ text: String, _ number: Int) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    // The generator adds its own step before it mixes.
    let step: UInt64 = 0x9e37_79b9_7f4a_7c15
    var generator = SeededGenerator(seed: seed &+ hash &+ (UInt64(truncatingIfNeeded: number) &- 1) &* step)
    return generator.next()
  }
}
