// The names are those of the C header.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import CExtension

/// The one symbol that the host looks up: the table of entry points, or NULL if no `@main` type has registered.
///
/// - Parameter host_abi_version: The newest version of the plugin ABI that the host speaks.
/// - Returns: The table, which lives as long as the process.
@c @implementation
public func background_assets_extension(_ host_abi_version: UInt32) -> UnsafePointer<ba_extension>? {
  guard host_abi_version >= BA_ABI_VERSION, let type = ExtensionRegistry.type else { return nil }
  return ExtensionTable.make(named: _typeName(type))
}

/// Its presence tells the host that this library is Swift and has a C `main`, which must be called first.
///
/// - Returns: The version of the ABI that the library was compiled with.
@c(background_assets_swift_extension)
public func backgroundAssetsSwiftExtension() -> UInt32 { BA_ABI_VERSION }

/// Builds the table. It is never freed: the host may use it as long as the process lives.
private enum ExtensionTable {
  static func make(named name: String) -> UnsafePointer<ba_extension> {
    let entries = UnsafeMutableBufferPointer<ba_entry_point>.allocate(capacity: 6)
    entries[0] = entry(BA_CONTENT_REQUEST, BA_CONTENT_REQUEST_SIGNATURE, erased(EntryPoints.contentRequest))
    entries[1] = entry(BA_DOWNLOAD_FINISHED, BA_DOWNLOAD_FINISHED_SIGNATURE, erased(EntryPoints.downloadFinished))
    entries[2] = entry(BA_DOWNLOAD_FAILED, BA_DOWNLOAD_FAILED_SIGNATURE, erased(EntryPoints.downloadFailed))
    entries[3] = entry(
      BA_AUTHENTICATION_CHALLENGE, BA_AUTHENTICATION_CHALLENGE_SIGNATURE, erased(EntryPoints.authenticationChallenge))
    entries[4] = entry(BA_WILL_TERMINATE, BA_WILL_TERMINATE_SIGNATURE, erased(EntryPoints.willTerminate))
    entries[5] = entry(BA_DELEGATE_EVENT, BA_DELEGATE_EVENT_SIGNATURE, erased(DelegateEntryPoint.function))
    let table = UnsafeMutablePointer<ba_extension>.allocate(capacity: 1)
    table.initialize(
      to: ba_extension(
        size: UInt32(MemoryLayout<ba_extension>.size), abi_version: BA_ABI_VERSION, name: permanent(name),
        entry_points: UnsafePointer(entries.baseAddress), entry_point_count: entries.count))
    return UnsafePointer(table)
  }

  private static func entry(
    _ name: String, _ signature: String, _ function: @escaping @convention(c) () -> Void
  ) -> ba_entry_point {
    ba_entry_point(name: permanent(name), signature: permanent(signature), function: function)
  }

  private static func permanent(_ text: String) -> UnsafePointer<CChar>? { strdup(text).map { UnsafePointer($0) } }

  /// The table holds functions without their types; the signature beside each says how to call it.
  private static func erased<Function>(_ function: Function) -> @convention(c) () -> Void {
    unsafeBitCast(function, to: (@convention(c) () -> Void).self)
  }
}
