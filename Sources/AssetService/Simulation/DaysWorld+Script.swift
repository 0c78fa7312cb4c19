internal import AssetModel
internal import Basics
internal import ServiceMachines

// What people, the network and the machine itself do.
extension DaysWorld {
  mutating func install(_ index: Int) {
    report.apps[index].version = 1
    placed(index, .install)
    if report.apps[index].launchesPerDay > 0 { planLaunch(index) }
    queue.add(.update(index), at: now + .days(40) * random.fraction())
  }

  mutating func update(_ index: Int) {
    report.apps[index].version += 1
    placed(index, .update)
    queue.add(.update(index), at: now + .days(40) * random.fraction() + .days(5))
  }

  private mutating func placed(_ index: Int, _ kind: AppLifecycle.PlacementKind) {
    let app = report.apps[index].identifier
    note(app, kind.rawValue, "version \(report.apps[index].version)")
    let limits = Restrictions.Limits(allowance: 200 << 20, essentialAllowance: 60 << 20, domains: nil)
    tell(
      app,
      .placed(
        version: "\(report.apps[index].version)", kind: kind, facts: .init(manifestHost: "example.com", limits: limits))
    )
  }

  private mutating func planLaunch(_ index: Int) {
    queue.add(.launch(index), at: now + .days(1) * (2 * random.fraction() / report.apps[index].launchesPerDay))
  }

  mutating func launch(_ index: Int) {
    defer { planLaunch(index) }
    let app = report.apps[index].identifier
    // At a closed gate people wait, or give up.
    guard core.apps[app]?.lifecycle.gate.isClosed == false, connections[app] == nil else { return }
    report.apps[index].launches += 1
    tell(app, .launched)
    lastConnection += 1
    connections[app] = lastConnection
    if random.fraction() < 0.7 {
      tell(app, .router(.observing(recipient: .connection(lastConnection), isObserving: true)))
    }
    queue.add(.exit(index), at: now + .minutes(90) * random.fraction())
  }

  mutating func exit(_ index: Int) {
    let app = report.apps[index].identifier
    guard let connection = connections.removeValue(forKey: app) else { return }
    tell(app, .connectionLeft(connection))
    tell(app, .exited)
  }

  private mutating func conditionsChanged() {
    tell(.conditions(Conditions(isLowPower: machine.isLowPower, isOnline: machine.isOnline)))
  }

  mutating func setNetwork(_ isOnline: Bool) {
    machine.isOnline = isOnline
    note(nil, isOnline ? "online" : "offline")
    if let offlineSince = machine.offlineSince { report.hoursOffline += (now - offlineSince).inSeconds / 3600 }
    machine.offlineSince = isOnline ? nil : now
    conditionsChanged()
    if isOnline { restartTransfers() }
    let length: Duration = isOnline ? .hours(40) : .hours(5)
    queue.add(.network(isOnline: !isOnline), at: now + length * random.fraction())
  }

  mutating func setDisk(_ isFull: Bool) {
    machine.isDiskFull = isFull
    note(nil, isFull ? "disk full" : "disk has room")
    if let fullSince = machine.fullSince { report.hoursWithFullDisk += (now - fullSince).inSeconds / 3600 }
    machine.fullSince = isFull ? now : nil
    if !isFull { restartTransfers() }
    let length: Duration = isFull ? .hours(12) : .days(12)
    queue.add(.disk(isFull: !isFull), at: now + length * random.fraction())
  }

  mutating func setPower(_ isLow: Bool) {
    machine.isLowPower = isLow
    note(nil, isLow ? "low power" : "power")
    conditionsChanged()
    queue.add(.power(isLow: !isLow), at: now + (isLow ? .hours(6) : .days(2)) * random.fraction())
  }

  mutating func sleep(_ hours: Double) {
    report.hoursAsleep += hours
    note(nil, "sleep", "\(Int(hours * 60)) minutes")
    machine.asleepUntil = now + .seconds(hours * 3600)
    queue.add(.sleep(hours: 4 + 6 * random.fraction()), at: now + .hours(24) + .minutes(60) * random.fraction())
  }

  /// `kill -9` of the service: runs and connections are gone, the journal and the downloads are there.
  mutating func kill() {
    report.serviceRestarts += 1
    note(nil, "service killed")
    runs.removeAll()
    let clients = connections
    tell(.restarted)
    for (app, connection) in clients.sorted(by: { $0.key < $1.key }) {
      // Apps go on, and connect again.
      tell(app, .launched)
      tell(app, .router(.observing(recipient: .connection(connection), isObserving: true)))
    }
    queue.add(.kill, at: now + .days(6) * random.fraction())
  }

  // MARK: Transfers

  mutating func restartTransfers() {
    for key in transfers.jobs.keys.sorted() where transfers[key]?.isRunning == false {
      transfers[key]?.attempt += 1
      queue.add(.attempt(key, number: transfers[key]?.attempt ?? 0), at: now + .seconds(5) * random.fraction())
    }
  }

  mutating func begin(_ key: SimulatedTransfers.Key, after wait: Duration = .zero) {
    guard transfers[key] != nil else { return }
    transfers[key]?.attempt += 1
    transfers[key]?.isRunning = false
    queue.add(.attempt(key, number: transfers[key]?.attempt ?? 0), at: now + wait)
  }

  mutating func attempt(_ key: SimulatedTransfers.Key, _ number: Int) {
    guard let job = transfers[key], job.attempt == number, !job.isPaused, !job.isRunning else { return }
    guard machine.isOnline, !machine.isDiskFull || job.isManifest else { return hold(key, job) }
    report.transfersBegun += 1
    transfers[key]?.isRunning = true
    tell(key.app, .registry(.engineStarted(uniqueIdentifier: key.download)))
    // A line of 20 Mbit/s.
    let length = Duration.seconds(0.2 + Double(job.size) / 2.5e6)
    queue.add(.arrived(key, number: number), at: now + length)
  }

  /// Foreground and essential ones don't wait for a network for ever (L11).
  private mutating func hold(_ key: SimulatedTransfers.Key, _ job: SimulatedTransfers.Job) {
    guard job.urgency != .background else { return }
    failed(key, job)
  }

  mutating func arrived(_ key: SimulatedTransfers.Key, _ number: Int) {
    guard let job = transfers[key], job.attempt == number, job.isRunning else { return }
    transfers[key]?.isRunning = false
    guard machine.isOnline, !machine.isDiskFull || job.isManifest, random.fraction() > 0.05 else {
      return failed(key, job)
    }
    transfers[key] = nil
    if job.isManifest {
      tell(key.app, .registry(.engineSettled(uniqueIdentifier: key.download, settlement: .finished(size: job.size))))
      tell(
        key.app,
        .manifestFinished(download: key.download, digest: "\(now.nanoseconds / 86_400_000_000_000 / 3)", size: job.size)
      )
      return
    }
    tell(key.app, .received(download: key.download, bytes: job.size, added: job.size, total: job.size))
    tell(key.app, .registry(.engineSettled(uniqueIdentifier: key.download, settlement: .finished(size: job.size))))
  }

  private mutating func failed(_ key: SimulatedTransfers.Key, _ job: SimulatedTransfers.Job) {
    report.transfersRetried += 1
    transfers[key]?.fruitless += 1
    let failure = Failure(domain: Failure.networkDomain, code: -1009, message: "the transfer failed")
    if job.isManifest, core.apps[key.app]?.lifecycle.gate.isClosed == false {
      return tell(key.app, .manifestLost(download: key.download, failure: failure))
    }
    guard let delay = transfers[key].flatMap({ SimulatedTransfers.delay($0, random: random.fraction()) }) else {
      transfers[key] = nil
      return tell(key.app, .registry(.engineSettled(uniqueIdentifier: key.download, settlement: .failed(failure))))
    }
    tell(key.app, .registry(.engineWaiting(uniqueIdentifier: key.download)))
    begin(key, after: delay)
  }
}
