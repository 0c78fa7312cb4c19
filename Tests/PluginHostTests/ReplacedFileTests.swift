import Glibc
import LinuxSystem
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct ReplacedFileTests {
  private static let places = ViewPlaces([("/bundle", "/home/a/x.appex"), ("/bundle/x.so", "/home/a/x.appex/x.so")])

  @Test(
    arguments: [
      ("open_tree /home/a/x y.so", ESTALE, "/home/a/x y.so"), ("open_tree /x.so", ENOENT, "/x.so"),
      ("open_tree /x.so", ENOTDIR, "/x.so"), ("open_tree /x.so", ELOOP, "/x.so"),
      ("move_mount /bundle/x.so", ENOENT, "/home/a/x.appex/x.so"),
      ("move_mount /bundle/y.so", ENOTDIR, "/home/a/x.appex/y.so"),
    ] as [(String, Int32, String)])
  func whatWasReplacedIsNamed(_ step: String, _ code: Int32, _ path: String) {
    #expect(
      ReplacedFile.outcome(step: step, code: code, places: Self.places)
        == Outcome(.loadFailed, "\(path) was replaced while the plugin was loaded; load it again"))
  }

  @Test(
    arguments: [
      ("open_tree /x.so", EPERM), ("open_tree /x.so", ENOSYS), ("open_tree /x.so", EMFILE), ("open_tree", ESTALE),
      ("move_mount /usr/lib", ENOENT), ("move_mount /bundle/x.so", EPERM), ("unshare CLONE_NEWNS", ENOENT),
      ("mount_setattr /bundle/x.so", ENOENT), ("seccomp 9 instructions", EINVAL), ("", ESTALE),
    ] as [(String, Int32)])
  func aMissingWallIsNoReplacedFile(_ step: String, _ code: Int32) {
    #expect(ReplacedFile.outcome(step: step, code: code, places: Self.places) == nil)
  }
}
