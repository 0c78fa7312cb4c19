internal import Glibc
internal import LinuxSystem

/// The folder that a store lies in: this user's, and writable by no other.
enum StateFolder {
  static func check(_ directory: String) throws(StoreError) {
    let identity: FileIdentity
    do {
      identity = try Files.identity(of: directory)
    } catch {
      throw .unusable(
        path: directory, why: SystemCallError.message(error.code), remedy: "make it, or name another state folder")
    }
    guard identity.isDirectory else {
      throw .unusable(path: directory, why: "it isn't a directory", remedy: "name a directory")
    }
    guard identity.owner == geteuid() else {
      throw .unusable(path: directory, why: "it belongs to another user", remedy: "name a folder of your own")
    }
    guard identity.mode & 0o022 == 0 else {
      throw .unusable(path: directory, why: "others may write to it", remedy: "chmod 700 it")
    }
  }
}
