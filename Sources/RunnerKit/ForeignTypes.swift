internal import CFFI
internal import HostProtocol

/// libffi's descriptions of a call's types. Those of structures are made for the call; the others are the library's own.
struct ForeignTypes {
  typealias Pointer = UnsafeMutablePointer<ffi_type>
  private var structures: [Pointer] = []
  private var lists: [UnsafeMutablePointer<Pointer?>] = []

  /// After the call.
  func release() {
    for structure in structures { structure.deallocate() }
    for list in lists { list.deallocate() }
  }

  mutating func type(of kind: CallSignature.Kind) -> Pointer? {
    if let scalar = kind.scalar { return Self.type(of: scalar) }
    switch kind {
    case .void: return ol_ffi_void()
    case .structure(let layout): return type(of: layout)
    default: return ol_ffi_pointer()
    }
  }

  private mutating func type(of layout: CallLayout) -> Pointer? {
    switch layout {
    case .scalar(let scalar): Self.type(of: scalar)
    case .structure(let fields): structure(of: fields)
    // Only a structure has arrays by value, and its list repeats their elements.
    case .array: nil
    }
  }

  static func type(of scalar: CallLayout.Scalar) -> Pointer? {
    switch scalar {
    case .i8: ol_ffi_i8()
    case .u8: ol_ffi_u8()
    case .i16: ol_ffi_i16()
    case .u16: ol_ffi_u16()
    case .i32: ol_ffi_i32()
    case .u32: ol_ffi_u32()
    case .i64: ol_ffi_i64()
    case .u64: ol_ffi_u64()
    case .f32: ol_ffi_f32()
    case .f64: ol_ffi_f64()
    case .pointer, .handle: ol_ffi_pointer()
    }
  }

  private mutating func structure(of fields: [CallLayout]) -> Pointer {
    var members: [Pointer?] = []
    for field in fields {
      var (element, count) = (field, 1)
      while case .array(let inner, let number) = element { (element, count) = (inner, count * number) }
      members.append(contentsOf: repeatElement(type(of: element), count: count))
    }
    let list = UnsafeMutablePointer<Pointer?>.allocate(capacity: members.count + 1)
    list.initialize(from: members, count: members.count)
    (list + members.count).initialize(to: nil)
    lists.append(list)
    let structure = Pointer.allocate(capacity: 1)
    // libffi finds size and alignment itself.
    structure.initialize(to: ffi_type(size: 0, alignment: 0, type: UInt16(FFI_TYPE_STRUCT), elements: list))
    structures.append(structure)
    return structure
  }
}
