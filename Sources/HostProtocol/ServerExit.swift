/// What a fork server says by its exit status where it can't say anything else: its host isn't connected yet, or must not wait.
package enum ServerExit {
  /// It could have no process, descriptor or memory (EX_OSERR of sysexits(3)).
  package static let resources: Int32 = 71
  /// It couldn't go on as the user that started it.
  package static let identity: Int32 = 77
}
