internal import AssetModel

/// Background transfers leave the link to others: best effort, because the receiver sees a queue only from behind it.
extension EngineCore {
  func yieldLink(_ now: Duration) {
    guard now >= nextYield else { return }
    nextYield = now + ReceiveWindow.interval
    for segment in segments.values where segment.link.hasOwnConnection {
      guard let job = active[segment.job] else { continue }
      guard job.record.transferClass.isBackground else {
        // Promoted, or on a connection that a background transfer had before.
        if segment.link.window.limit != nil {
          segment.link.window = ReceiveWindow()
          transport.limitWindow(of: segment.transfer, to: ReceiveWindow.most)
        }
        continue
      }
      guard let sample = transport.receiveSample(of: segment.transfer),
        let limit = segment.link.window.look(sample, at: now)
      else { continue }
      transport.limitWindow(of: segment.transfer, to: limit)
    }
  }
}
