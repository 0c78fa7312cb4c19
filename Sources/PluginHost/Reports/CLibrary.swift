/// The C library's file, which lies beside every plugin.
package enum CLibrary {
  package static let fileName = "libc.so.6"
}
