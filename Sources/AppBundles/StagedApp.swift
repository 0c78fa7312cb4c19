/// An app that has been copied and checked, and isn't in its place yet. One that is let go of is removed.
package struct StagedApp: ~Copyable, Sendable {
  package let description: AppDescription
  let staging: StagingArea
  let subject: String
}
