package import AssetModel

extension DownloadEngine {
  /// The app is gone: every open download of it is cancelled, and its partial files are removed. Returns which those are;
  /// each is told as `cancelled`. One that is being published at this moment finishes, and belongs to the store.
  @discardableResult
  package func cancelAll(app: String) async throws -> [JobID] {
    let jobs = try await openJobs(of: app)
    for job in jobs { cancel(job.id) }
    return jobs.map(\.id)
  }

  /// The app is another version now and wants exactly these: what asks for the same goes on untouched; what has another
  /// address but the same digest goes on with the bytes that are there; everything else of the app is cancelled.
  package func update(app: String, to specifications: [DownloadSpecification]) async throws -> [AddResult] {
    let wanted = Dictionary(specifications.map { (Array($0.identifier.utf8), $0) }) { first, _ in first }
    var replaced: [[UInt8]: JobID] = [:]
    for job in try await openJobs(of: app) {
      let name = Array(job.specification.identifier.utf8)
      guard let new = wanted[name], new.app.utf8.elementsEqual(app.utf8) else {
        cancel(job.id)
        continue
      }
      if !job.specification.asksForTheSame(as: new) { replaced[name] = job.id }
    }
    var results: [AddResult] = []
    for specification in specifications {
      if specification.rejectionReason == nil,
        let id = replaced.removeValue(forKey: Array(specification.identifier.utf8))
      {
        results.append(try await supersede(id, with: specification))
      } else {
        results += try await add([specification])
      }
    }
    return results
  }

  private func openJobs(of app: String) async throws -> [JobRecord] {
    try await mailbox.ask { .openJobs(of: app, $0) }
  }

  package func supersede(
    _ id: JobID, with specification: DownloadSpecification, isRenewed: Bool = false
  ) async throws -> AddResult {
    try await mailbox.ask { .supersede(id, with: specification, isRenewed: isRenewed, $0) }
  }
}
