/// The version of the programs and of the service, as each of them says it.
package enum ProductVersion {
  package static let text = "0.1.0"
}
