internal import CFFI
internal import HostProtocol

/// A function that is called by words: libffi's description of it is made once.
final class WordFunction {
  private typealias Types = UnsafeMutablePointer<UnsafeMutablePointer<ffi_type>?>

  let count: Int
  private let function: @convention(c) () -> Void
  private let interface: UnsafeMutablePointer<ffi_cif>
  private let types: Types
  private let slots: UnsafeMutablePointer<UnsafeMutableRawPointer?>

  /// nil where the signature has more than words. `words`: where its arguments will be at each call.
  init?(_ address: UnsafeMutableRawPointer, _ signature: CallSignature, words: UnsafeMutablePointer<UInt64>) {
    guard let signature = WordSignature(signature) else { return nil }
    count = signature.arguments.count
    function = unsafeBitCast(address, to: (@convention(c) () -> Void).self)
    interface = .allocate(capacity: 1)
    interface.initialize(to: ffi_cif())
    types = .allocate(capacity: count + 1)
    for (index, scalar) in signature.arguments.enumerated() {
      (types + index).initialize(to: ForeignTypes.type(of: scalar))
    }
    slots = .allocate(capacity: count + 1)
    for index in 0..<count { (slots + index).initialize(to: UnsafeMutableRawPointer(words + index)) }
    let result = signature.result.map { ForeignTypes.type(of: $0) } ?? ol_ffi_void()
    guard ffi_prep_cif(interface, FFI_DEFAULT_ABI, UInt32(count), result, types) == FFI_OK else { return nil }
  }

  deinit {
    interface.deallocate()
    types.deallocate()
    slots.deallocate()
  }

  /// With what lies in its words. What isn't part of the result is whatever was in its register.
  func call() -> UInt64 {
    var result: UInt64 = 0
    ffi_call(interface, function, &result, slots)
    return result
  }
}
