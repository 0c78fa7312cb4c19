internal import AssetModel
internal import ServiceProtocol

/// What an installation came to that was waited for.
struct InstallEnd {
  /// nil: what was asked for is in place.
  var failure: Failure?
  /// What is to be said all the same.
  var note: String?

  /// `app`: as its installation was answered. `last`: as it may be launched. `former`: the bundles that were there before it was asked
  /// for; one that is neither of them nor its own is that of another installation, which was asked for later.
  init(of app: AppSummary, inPlace last: AppSummary, former: [String]) {
    guard last.path != app.path else { return }
    let name = "\(app.identifier) \(Printable.text(app.version, limit: 100))"
    let there = Printable.text(last.version, limit: 100)
    if former.contains(last.path) {
      failure = Failure(1, "\(name) isn't in place: \(Printable.text(last.gate.reason, limit: 400)); \(there) is there")
    } else if last.version == app.version {
      note = "another installation of \(name) took the place of this one, and is there"
    } else {
      failure = Failure(1, "\(name) isn't in place: another installation, of \(there), took its place")
    }
  }
}
