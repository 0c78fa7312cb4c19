internal import LinuxSystem

/// What a bundle's extension must be (spec, section 3.2).
struct ExtensionCheck {
  static let requiredPoint = "com.apple.background-asset-downloader-extension"
  private static let attributes = "EXAppExtensionAttributes"
  private static let pointKey = "EXExtensionPointIdentifier"

  /// The app's, as far as they are known.
  let appIdentifier: String?
  let appGroups: [String]
  /// Where extensions lie within the bundle, with a slash at its end.
  let folder: String
  var findings: [Finding] = []

  struct Found {
    var path: String
    var identifier: String
    var groups: [String]
  }

  init(appIdentifier: String?, appGroups: [String], base: String) {
    self.appIdentifier = appIdentifier
    self.appGroups = appGroups
    folder = base + "Extensions/"
  }

  private static let remedy =
    "put the extension's .so and its Info.plist into an .appex folder there, or use: outrider bundle create"

  mutating func run(in bundle: borrowing BundleFolder) -> Found? {
    var names: [String] = []
    do throws(BundleFolder.ReadError) {
      names = try bundle.names(in: folder).filter { $0.hasSuffix(".appex") }
    } catch {
      if error != .missing {
        report(folder, expected: "a folder with the extension", found: error.text)
        return nil
      }
    }
    let candidates = names.map { candidate("\(folder)\($0)", in: bundle) }
    let fit = candidates.filter { $0.point == Self.requiredPoint }
    if fit.count == 1, let only = fit.first { return inspect(only, in: bundle) }
    if fit.count > 1 {
      report(
        folder, expected: "one extension with \(Self.pointKey) \(Self.requiredPoint)",
        found: fit.map(\.path).joined(separator: ", "), remedy: "remove all but one")
    } else if candidates.isEmpty {
      let misplaced = (try? bundle.names(in: folder.replacing("Extensions/", with: "PlugIns/"))) ?? []
      let name = misplaced.first { $0.hasSuffix(".appex") }
      report(
        folder + "*.appex", expected: "one downloader extension",
        found: name.map { "nothing, but PlugIns/\($0)" } ?? "nothing",
        remedy: name.map { "move \($0) from PlugIns to Extensions" } ?? Self.remedy)
    } else {
      // None will do: then each says why.
      for candidate in candidates { _ = inspect(candidate, in: bundle) }
    }
    return nil
  }

  private mutating func report(_ file: String, expected: String, found: String, remedy: String? = nil) {
    findings.append(Finding(file: file, expected: expected, found: found, remedy: remedy))
  }

  private struct Candidate {
    var path: String
    /// Of its `Info.plist`, with a slash at its end.
    var base: String
    var info: KeyReader?
    var readError: BundleFolder.ReadError?
    var point: String?
  }

  private func candidate(_ path: String, in bundle: borrowing BundleFolder) -> Candidate {
    let isDeep = !bundle.exists("\(path)/Info.plist") && bundle.exists("\(path)/Contents/Info.plist")
    var candidate = Candidate(path: path, base: isDeep ? "\(path)/Contents/" : "\(path)/")
    do throws(BundleFolder.ReadError) {
      let kind = FileKind(try bundle.identity(of: path))
      guard kind == .folder else { throw .isOther(kind.rawValue) }
      var info = KeyReader(try bundle.propertyList(candidate.base + "Info.plist"), file: candidate.base + "Info.plist")
      if var attributes = info.dictionary(Self.attributes) {
        candidate.point = attributes.text(Self.pointKey, expected: Self.requiredPoint) { $0 == Self.requiredPoint }
        info.findings += attributes.findings
      } else {
        info.report(Self.attributes, expected: "a dictionary with \(Self.pointKey) \(Self.requiredPoint)")
      }
      candidate.info = info
    } catch {
      candidate.readError = error
    }
    return candidate
  }

  private mutating func inspect(_ candidate: Candidate, in bundle: borrowing BundleFolder) -> Found? {
    guard var info = candidate.info else {
      let isFolder = (try? bundle.identity(of: candidate.path))?.isDirectory ?? false
      report(
        isFolder ? candidate.base + "Info.plist" : candidate.path,
        expected: isFolder ? "the extension's property list" : "an extension's folder",
        found: candidate.readError?.text ?? "nothing", remedy: Self.remedy)
      return nil
    }
    let prefix = appIdentifier.map { $0 + "." }
    let identifier = info.text(
      "CFBundleIdentifier",
      expected: "an identifier that begins with " + (prefix.map { "'\($0)'" } ?? "the app's, and a dot"),
      remedy: prefix.map { "name it, for example, \($0)downloader" }
    ) { name in
      BundleNames.isIdentifier(name) && (prefix.map { name.hasPrefix($0) && name.count > $0.count } ?? true)
    }
    for key in info.keys where AppKeys.all.contains(key) {
      info.report(
        key, expected: "nothing: this key belongs in the app's Info.plist",
        remedy: "move it to the app's Info.plist")
    }
    checkLibrary(candidate, &info, in: bundle)
    let groups = checkGroups(candidate, &info, in: bundle)
    findings += info.findings
    guard let identifier, candidate.point != nil else { return nil }
    return Found(path: candidate.path, identifier: identifier, groups: groups)
  }

  private func checkLibrary(_ candidate: Candidate, _ info: inout KeyReader, in bundle: borrowing BundleFolder) {
    let key = "CFBundleExecutable"
    guard let name = info.text(key, expected: "the name of the extension's .so", where: BundleNames.isFileName) else {
      return
    }
    let path = candidate.base.hasSuffix("/Contents/") ? "\(candidate.base)MacOS/\(name)" : candidate.base + name
    var found: String?
    do throws(BundleFolder.ReadError) {
      found = Self.rejectionReason(forLibrary: try bundle.head(of: path, count: 20))
    } catch {
      found = error.text
    }
    guard let found else { return }
    info.findings.append(
      Finding(
        file: path, expected: "a shared library (64-bit ELF)", found: found,
        remedy: "build the extension with: swiftc -emit-library, or gcc -shared"))
  }

  /// Of its first bytes (elf(5)); the loader has the last word, inside the walls.
  private static func rejectionReason(forLibrary head: [UInt8]) -> String? {
    guard head.starts(with: [0x7f, 0x45, 0x4c, 0x46]) else {
      return head.isEmpty ? "an empty file" : "a file of another kind"
    }
    guard head.count == 20 else { return "a file that is cut" }
    if head[4] != 2 { return "a 32-bit ELF file" }
    // e_type and e_machine, in the file's byte order: ET_DYN, and EM_X86_64 or EM_AARCH64.
    let isBig = head[5] == 2
    guard (isBig ? head[17] : head[16]) == 3 else { return "an ELF file that isn't a shared library" }
    let machine = isBig ? Int(head[18]) << 8 | Int(head[19]) : Int(head[19]) << 8 | Int(head[18])
    #if arch(x86_64)
      let (here, name) = (62, "x86-64")
    #else
      let (here, name) = (183, "AArch64")
    #endif
    return machine == here && !isBig
      ? nil : "a library for another architecture (machine \(machine)); this machine is \(name)"
  }

  private func checkGroups(
    _ candidate: Candidate, _ info: inout KeyReader, in bundle: borrowing BundleFolder
  ) -> [String] {
    let declaresOwn = info.has(GroupCheck.key) || bundle.exists(candidate.base + GroupCheck.fileName)
    let groups = GroupCheck.groups(in: bundle, folder: candidate.base, info: &info, groupID: nil)
    guard declaresOwn else { return appGroups }
    for group in groups where !appGroups.contains(group) {
      info.report(
        GroupCheck.key,
        expected: appGroups.isEmpty
          ? "groups of the app, which has none"
          : "only groups of the app: "
            + appGroups.joined(separator: ", "),
        found: "'\(group)'", remedy: "give the app that group, or take it from the extension")
    }
    if groups.isEmpty, !appGroups.isEmpty {
      info.report(GroupCheck.key, expected: "a group of the app: " + appGroups.joined(separator: ", "))
    }
    return groups
  }
}
