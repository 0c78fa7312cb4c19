internal import Basics
internal import CExtension
internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem

/// A library in this process and, for an extension, its checked table of entry points.
struct LoadedPlugin {
  struct LoadError: Error {
    let message: String
  }

  struct EntryPoint {
    let name: String
    let signature: CallSignature
    let function: @convention(c) () -> Void
  }

  /// Functions that were called before: looking a symbol's type up walks the library's whole table.
  final class Resolved {
    struct Function {
      let text: String
      let signature: CallSignature
      let address: UnsafeMutableRawPointer
    }

    var functions: [ExactText: Function] = [:]
  }

  let resolved = Resolved()
  let library: UnsafeMutableRawPointer
  let description: RunnerMessage.LoadedImage
  let entryPoints: [EntryPoint]

  init(_ request: HostMessage.LoadRequest, deep: Bool) throws(LoadError) {
    if let identity = try? Files.identity(of: request.path) {
      guard identity.device == request.device, identity.inode == request.inode else {
        throw LoadError(message: "\(request.path) isn't the file that the host opened")
      }
    } else {
      throw LoadError(message: "\(request.path) isn't there")
    }
    CommandLine.setArguments([request.path])
    // As in a program that is linked with it: modules of an interpreter find its functions without needing it by name.
    guard let library = ol_load(request.path, deep ? 1 : 0, 1) else {
      throw LoadError(message: String(cString: ol_loader_message()))
    }
    self.library = library
    ol_note_libraries()
    HostCallbacks.configure(request)
    guard request.isExtension else {
      entryPoints = []
      description = .init(abiVersion: 0, name: "", isSwift: false, entryPoints: [])
      return
    }
    let isSwift = Self.find("background_assets_swift_extension", in: library) != nil
    if isSwift {
      guard let main = Self.find("main", in: library) else {
        throw LoadError(
          message: "the library contains BackgroundAssets but no @main type that conforms to BADownloaderExtension")
      }
      // Registers the @main type and returns.
      _ = FunctionCaller.invoke(
        main, CallSignature(result: .i32, arguments: [.i32, .pointer]), [.signed(0), .pointer(0)])
    }
    let table = try Self.table(of: library)
    entryPoints = try Self.entryPoints(of: table)
    description = Self.description(of: table, isSwift: isSwift, entryPoints)
  }

  /// Without a library, and hence without functions by name.
  init(practising table: UnsafePointer<ba_extension>) throws(LoadError) {
    library = UnsafeMutableRawPointer(mutating: table)
    entryPoints = try Self.entryPoints(of: table.pointee)
    description = Self.description(of: table.pointee, isSwift: false, entryPoints)
  }

  private static func description(
    of table: ba_extension, isSwift: Bool, _ entryPoints: [EntryPoint]
  ) -> RunnerMessage.LoadedImage {
    .init(
      abiVersion: table.abi_version, name: table.name.map { text($0) } ?? "", isSwift: isSwift,
      entryPoints: entryPoints.map { .init(name: $0.name, signature: $0.signature.description) })
  }

  /// The address of a function that the library itself defines.
  private static func find(_ symbol: String, in library: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    var address: UnsafeMutableRawPointer?
    return ol_symbol(library, symbol, &address) == OL_SYMBOL_FUNCTION ? address : nil
  }

  private static func table(
    of library: UnsafeMutableRawPointer
  ) throws(LoadError) -> ba_extension {
    let symbol = "background_assets_extension"
    var address: UnsafeMutableRawPointer?
    switch ol_symbol(library, symbol, &address) {
    case OL_SYMBOL_FUNCTION: break
    case OL_SYMBOL_DATA:
      throw LoadError(message: "\(symbol) is data; the host needs a function of signature pointer(u32)")
    case OL_SYMBOL_FUNCTION_ELSEWHERE:
      throw LoadError(message: "\(symbol) is defined by another library, not by the extension itself")
    default:
      throw LoadError(
        message: "the library exports no \(symbol), so it isn't an extension (any library works with 'outrider call')")
    }
    guard let address else { throw LoadError(message: "\(symbol) has no address") }
    let result = FunctionCaller.invoke(
      address, CallSignature(result: .pointer, arguments: [.u32]), [.unsigned(UInt64(BA_ABI_VERSION))])
    guard case .pointer(let raw) = result.value, let pointer = UnsafePointer<ba_extension>(bitPattern: UInt(raw)) else {
      throw LoadError(message: "the extension refuses a host of ABI version \(BA_ABI_VERSION)")
    }
    let table = PluginMemory.value(pointer, of: .table)
    let size = Int(table.size)
    guard size >= MemoryLayout<ba_extension>.size, size <= 4096 else {
      throw LoadError(
        message:
          "the extension's table has \(size) bytes; ABI version \(BA_ABI_VERSION) has \(MemoryLayout<ba_extension>.size)"
      )
    }
    guard table.abi_version == BA_ABI_VERSION else {
      throw LoadError(
        message: "the extension speaks ABI version \(table.abi_version); this host speaks \(BA_ABI_VERSION)")
    }
    return table
  }

  private static let known: [String: String] = [
    BA_CONTENT_REQUEST: BA_CONTENT_REQUEST_SIGNATURE, BA_DOWNLOAD_FINISHED: BA_DOWNLOAD_FINISHED_SIGNATURE,
    BA_DOWNLOAD_FAILED: BA_DOWNLOAD_FAILED_SIGNATURE,
    BA_AUTHENTICATION_CHALLENGE: BA_AUTHENTICATION_CHALLENGE_SIGNATURE,
    BA_WILL_TERMINATE: BA_WILL_TERMINATE_SIGNATURE, BA_DELEGATE_EVENT: BA_DELEGATE_EVENT_SIGNATURE,
  ]

  private static func entryPoints(of table: ba_extension) throws(LoadError) -> [EntryPoint] {
    let count = table.entry_point_count
    guard (0...64).contains(count) else {
      throw LoadError(message: "the extension's table claims \(count) entry points; at most 64 are allowed")
    }
    guard let list = table.entry_points else {
      guard count == 0 else { throw LoadError(message: "the extension's table has \(count) entry points at NULL") }
      return []
    }
    var found: [EntryPoint] = []
    for (index, raw) in PluginMemory.values(list, Int(count), of: .table).enumerated() {
      guard let name = raw.name, let text = raw.signature, let function = raw.function else {
        throw LoadError(message: "entry point \(index) lacks a name, a signature or a function")
      }
      let entryName = Self.text(name)
      let signature: CallSignature
      do {
        signature = try CallSignature(parsing: Self.text(text))
      } catch {
        throw LoadError(message: "entry point \(entryName): \(error.description)")
      }
      if let expected = known[entryName], expected != signature.description {
        throw LoadError(message: "entry point \(entryName) has the signature \(signature); the host calls \(expected)")
      }
      guard !found.contains(where: { $0.name == entryName }) else {
        throw LoadError(message: "entry point \(entryName) is in the table twice")
      }
      found.append(EntryPoint(name: entryName, signature: signature, function: function))
    }
    return found
  }

  private static func text(_ pointer: UnsafePointer<CChar>) -> String {
    String(decoding: PluginMemory.text(pointer, atMost: 1024, of: .table), as: UTF8.self)
  }
}
