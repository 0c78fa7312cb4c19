internal import AssetModel
internal import Basics
internal import CLinux
internal import Glibc
internal import LinuxSystem
package import Sandbox

/// What a caller names for a run: the library, its container, the manifest, a finished file, what the policy grants. All of
/// it is looked up here, by one rule (`GrantWalk`), and once: afterwards it is this file and no name.
struct RunPath: ~Copyable {
  private let found: GrantWalk.Found
  /// Without symbolic links. When it is opened again, it must still be `identity`.
  let path: String
  let subject: String

  var identity: FileIdentity { found.identity }
  /// Whether plugins, of this run or an earlier one, may have written it.
  var isPlugins: Bool { found.isPlugins }
  /// Whether it was found by a link of /proc, as what a process has open is.
  var isProcess: Bool { found.isProcess }
  /// Names the file, but can neither read nor write (O_PATH).
  var number: Int32 { found.descriptor.number }

  /// Throws `.input` where nothing is there, and `.usage` where a plugin may have chosen what is. `writable`: what plugins
  /// of this run may write to. `subject`: how a sentence about it begins.
  init(opening path: String, writable: [FileIdentity] = [], subject: String? = nil) throws(HostError) {
    let subject = subject ?? path
    let absolute = try Self.absolute(path, subject)
    do throws(GrantWalk.Failure) {
      found = try GrantWalk(writable: writable).open(absolute)
    } catch {
      switch error {
      case .link(let name):
        throw .usage(
          "\(subject) leads through the symbolic link '\(Printable.text(name))' in a folder that plugins may write to; name the path that it leads to"
        )
      case .system(let error) where error.code == EMFILE:
        throw .exhausted(DescriptorBudget.sentence(limit: OpenFiles.limit, needed: 1))
      case .system(let error): throw .input("\(subject): \(SystemCallError.message(error.code))")
      }
    }
    self.subject = subject
    self.path = Files.link("/proc/self/fd/\(found.descriptor.number)") ?? path
  }

  private static func absolute(_ path: String, _ subject: String) throws(HostError) -> String {
    // The kernel would read a name up to the zero, and there is no file without a name.
    guard !path.isEmpty, !path.utf8.contains(0) else { throw .input("\(subject): \(SystemCallError.message(ENOENT))") }
    if path.isAbsolutePath { return path }
    guard let text = getcwd(nil, 0) else {
      throw .input("\(subject): the working directory is gone; go to another one, or name an absolute path")
    }
    defer { free(text) }
    // Bytes that are no UTF-8 would be repaired, and lead elsewhere; one that isn't beneath the root begins otherwise.
    guard let folder = String(validatingCString: text), folder.isAbsolutePath else {
      throw .input("\(subject): the working directory has no usable name; name an absolute path")
    }
    return folder + "/" + path
  }

  /// That very file, for reading. One that keeps its opener waiting, as a FIFO does, has to be asked for.
  borrowing func reading(mayWait: Bool = false) throws(HostError) -> OwnedDescriptor {
    do throws(SystemCallError) {
      return try OwnedDescriptor.open(
        "/proc/self/fd/\(found.descriptor.number)", O_RDONLY | (mayWait ? 0 : O_NONBLOCK))
    } catch {
      throw .input("\(subject): \(SystemCallError.message(error.code))")
    }
  }

  borrowing func checkRegular() throws(HostError) {
    guard identity.isRegularFile else { throw .input("\(subject): not a regular file") }
  }

  /// Says of a folder or a file, for later runs, that plugins have been able to write to it.
  borrowing func mark() throws(HostError) {
    guard identity.isDirectory || identity.isRegularFile else { return }
    do throws(SystemCallError) {
      try WritableMark.set(on: found.descriptor, path)
    } catch {
      // Later runs would take what plugins leave there for the user's own.
      if error.code == EPERM {
        throw .usage(
          "\(subject) can't be marked as a plugin's: it is another user's, who lets everyone write there; name a folder of your own"
        )
      }
      throw .input("\(subject) can't be marked as a plugin's: \(SystemCallError.message(error.code))")
    }
  }

  /// The folders and files that plugins of a run may write to, as far as they are there.
  static func writable(under policy: Policy, containers: [String]) -> [FileIdentity] {
    let granted = (try? PatternExpansion.resolved(policy).write) ?? policy.write
    return (containers + granted).compactMap { try? Files.identity(of: $0) }
      .filter { $0.isDirectory || $0.isRegularFile }
  }

  static func writable(under policy: Policy, container: String?) -> [FileIdentity] {
    writable(under: policy, containers: [container].compactMap { $0 })
  }
}

/// What plugins may have made, under a policy or an earlier one.
package struct PluginReach {
  private let writable: [FileIdentity]

  package init(under policy: Policy) { writable = RunPath.writable(under: policy, container: nil) }

  /// The symbolic link for which no run would be granted this path: it lies in a folder that plugins may write to. nil: there is none.
  package func plantedLink(on path: String) -> String? {
    do throws(GrantWalk.Failure) {
      _ = try GrantWalk(writable: writable).open(path)
      return nil
    } catch {
      guard case .link(let name) = error else { return nil }
      return name
    }
  }

  /// Whether it lies in a folder that plugins may write to, so that no run maps it as code.
  package func holds(_ path: String) -> Bool {
    do throws(GrantWalk.Failure) {
      return try GrantWalk(writable: writable).open(path).isPlugins
    } catch {
      return false
    }
  }
}

extension PluginHost {
  /// Bytes of a file that a command line names as an argument, at most `limit`; a pipe will do. Nothing that a plugin has
  /// put in its place.
  package static func content(
    of path: String, limit: Int, policy: Policy, container: String?
  ) throws(HostError) -> [UInt8] {
    let named = try RunPath(
      opening: path, writable: RunPath.writable(under: policy, container: container))
    let file = try named.reading(mayWait: true)
    do throws(SystemCallError) {
      let bytes = try file.readAll(limit: limit + 1)
      guard bytes.count <= limit else { throw SystemCallError("read", code: EFBIG, subject: path) }
      return bytes
    } catch {
      guard error.code == EFBIG else { throw .input("\(path): \(SystemCallError.message(error.code))") }
      throw .usage("\(path): more than \(limit >> 20) MiB")
    }
  }
}
