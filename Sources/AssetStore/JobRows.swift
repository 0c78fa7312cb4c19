internal import AssetModel
internal import Foundation
internal import GRDB
internal import Glibc

/// Jobs as rows, and back.
enum JobRow {
  enum State: Int64 { case open, paused, verified, finished, failed, cancelled }

  /// Conditions on the states of jobs. Indexes are made for the first, as it is written.
  static let isOpen = "state < \(State.finished.rawValue)"
  static let isSettled = "state >= \(State.finished.rawValue)"

  static func state(_ state: JobState) -> State {
    switch state {
    case .open: .open
    case .paused: .paused
    case .verified: .verified
    case .finished: .finished
    case .failed: .failed
    case .cancelled: .cancelled
    }
  }

  static let insertion = """
    INSERT INTO jobs (app, identifier, url, origin, headers, requestedClass, isEssential, priority, declaredSize, digest,
      chunkSize, chunkTotal, chunks, directory, fileName, allowedDomains, budget, class, generation, state, history, received, rest,
      enqueuedBoot, enqueuedAt, enqueuedWall, progressBoot, progressAt, progressWall, isManifest, reserved, volume, mirrors, method, body)
    VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,\(State.open.rawValue),?,0,?,?,?,?,?,?,?,?,?,?,?,?,?)
    """

  static func insertionArguments(
    _ job: DownloadSpecification, generation: Int, reserved: Int64, volume: UInt64?, now: StoredMoment
  ) -> StatementArguments {
    let origin = origin(of: job.url)
    let list = job.chunks
    return [
      text(job.app), text(job.identifier), job.url, origin, blob(headers(job.headers)), job.transferClass.rawValue,
      job.isEssential, job.priority,
      job.declaredSize, job.digest.map { blob($0.bytes) }, list?.chunkSize, list?.totalSize,
      list.map { blob($0.digests) },
      text(job.directory), text(job.fileName), job.allowedDomains.map { blob(texts($0)) }, job.budget,
      job.transferClass.rawValue, generation,
      blob(history(JobHistory())), job.exactSize ?? job.declaredSize, now.bootIdentifier, now.boot, now.wall,
      now.bootIdentifier,
      now.boot, now.wall, job.isManifest, reserved, volume.map { Int64(bitPattern: $0) },
      job.mirrors.isEmpty ? nil : blob(texts(job.mirrors)),
      job.method == "GET" ? nil : job.method, job.body.isEmpty ? nil : blob(job.body),
    ]
  }

  static let change = """
    UPDATE jobs SET class=?, generation=?, state=?, failureReason=?, failureStatus=?, failureHop=?, failureErrno=?, failureDetail=?,
      failureCause=?, keptBytes=?, stagingName=?, strongTag=?, weakTag=?, lastModified=?, total=?, coding=?, finalURL=?, reprDigest=?, checkpoints=?, verifiedChunks=?,
      partialBoot=?, device=?, inode=?, rest=?, history=?, received=?, lastError=?, lastCause=?, waitBoot=?, waitAt=?, waitWall=?, waitLength=?,
      progressBoot=?, progressAt=?, progressWall=?, publishedInode=?, finalSize=?
    WHERE id=? AND generation<=? AND \(isOpen)
    """

  /// All that publishing changes after `verified`, which brought the rest.
  private static let finish = """
    UPDATE jobs SET state = \(State.finished.rawValue), received = ? WHERE id = ? AND generation = ?
      AND state = \(State.verified.rawValue)
    """

  static func update(_ database: Database, _ job: JobRecord) throws {
    if job.state == .finished {
      try database.query(finish).bind(job.receivedBytes).bind(job.id.number).bind(job.generation).run()
      if database.changedRows > 0 { return }
    }
    let query = try database.query(change)
    try bind(job, to: query)
    try query.run()
  }

  /// What is expected of its bytes, and what of those that are there counts from now on.
  static func expect(_ database: Database, _ job: JobRecord) throws {
    let list = job.specification.chunks
    try database.query("UPDATE jobs SET digest = ?, chunkSize = ?, chunkTotal = ?, chunks = ? WHERE id = ?")
      .bind(job.specification.digest?.bytes).bind(list?.chunkSize).bind(list?.totalSize).bind(list?.digests)
      .bind(job.id.number).run()
    try update(database, job)
  }

  static func setMirrors(_ database: Database, _ job: JobRecord) throws {
    let mirrors = job.specification.mirrors
    try database.query("UPDATE jobs SET mirrors = ? WHERE id = ?").bind(mirrors.isEmpty ? nil : texts(mirrors))
      .bind(job.id.number).run()
    try update(database, job)
  }

  private static func bind(_ job: JobRecord, to query: Query) throws {
    var failure: TransferFailure?
    if case .failed(let reason) = job.state { failure = reason }
    query.bind(job.transferClass.rawValue).bind(job.generation).bind(state(job.state).rawValue)
    query.bind(failure?.reason.rawValue).bind(failure?.status.map(Int64.init)).bind((failure?.hop).map(Int64.init))
    query.bind(failure?.errno.map(Int64.init)).bind(failure?.detail)
    query.bind(try failure?.cause.map(json)).bind(failure?.keptBytes)
    let entity = job.partial?.entity
    query.bind(job.partial?.stagingName).bind(entity?.strongTag).bind(entity?.weakTag).bind(entity?.lastModified)
    query.bind(entity?.total)
    query.bind(entity?.coding).bind(entity?.finalURL).bind(entity?.reprDigest?.bytes)
    query.bind((job.partial?.checkpoints).map(checkpoints)).bind(job.partial?.verifiedChunks)
    query.bind(job.partial?.bootIdentifier).bind(bits: job.partial?.device).bind(bits: job.partial?.inode)
    query.bind(rest(job)).bind(history(job.history)).bind(job.receivedBytes).bind(job.lastError)
    query.bind(try job.lastCause.map(json))
    query.bind(job.wait?.since.bootIdentifier).bind(job.wait?.since.boot).bind(job.wait?.since.wall)
    query.bind(job.wait?.length)
    query.bind(job.lastProgress.bootIdentifier).bind(job.lastProgress.boot).bind(job.lastProgress.wall)
    query.bind(bits: job.publishedInode).bind(job.finalSize).bind(job.id.number).bind(job.generation)
  }

  /// Bytes still to come, for the queue after a restart.
  private static func rest(_ job: JobRecord) -> Int64? {
    let total = job.specification.exactSize ?? job.partial?.entity.total ?? job.specification.declaredSize
    return total.map { max(0, $0 - job.durableBytes) }
  }

  /// `JobRecord.leftover`, as a condition.
  static let hasLeftover =
    """
    state = \(State.failed.rawValue) AND stagingName IS NOT NULL
      AND (failureReason IS 'refused' AND failureErrno IS \(EEXIST)
      OR failureReason IS 'challenge' AND failureStatus IN (401, 403) OR keptBytes IS NOT NULL)
    """

  /// What `record` reads, in its order.
  static let columns = """
    id, app, identifier, url, headers, requestedClass, isEssential, priority, declaredSize, digest, chunkSize, chunkTotal,
    chunks, directory, fileName, allowedDomains, budget, isManifest, mirrors, method, body, class, generation, state, failureReason, failureStatus,
    failureHop, failureErrno, failureDetail, failureCause, keptBytes, stagingName, strongTag, weakTag, lastModified, total, coding, finalURL, reprDigest,
    checkpoints, verifiedChunks, partialBoot, device, inode, history, received, reserved, enqueuedBoot, enqueuedAt, enqueuedWall,
    waitBoot, waitAt, waitWall, waitLength, progressBoot, progressAt, progressWall, lastError, lastCause, publishedInode, finalSize
    """

  static func find(_ id: JobID, _ database: Database) throws -> JobRecord? {
    let row = try database.query("SELECT \(columns) FROM jobs WHERE id = ?").bind(id.number)
    return try row.step() ? try record(row) : nil
  }

  /// A row of `columns`, which are read once each, from the first to the last.
  static func record(_ row: Query) throws -> JobRecord {
    let id = JobID(row.int64())
    let specification = try specification(row)
    let (transferClass, generation) = (try transferClass(row.int()), row.int())
    let state = try state(row)
    let partial = try partial(row)
    var history = JobHistory()
    try read(&history, Unpacker(row.blob()))
    let (received, reserved) = (row.int64(), row.int64())
    return JobRecord(
      id: id, specification: specification, transferClass: transferClass, generation: generation, state: state,
      partial: partial, history: history, receivedBytes: received, reservedBytes: reserved,
      enqueued: moment(row) ?? StoredMoment(bootIdentifier: "", boot: 0, wall: 0), wait: wait(row),
      lastProgress: moment(row), lastError: row.optionalText(), lastCause: try cause(row.optionalText()),
      publishedInode: row.optionalInt64().map { UInt64(bitPattern: $0) }, finalSize: row.optionalInt64())
  }

  private static func specification(_ row: Query) throws -> DownloadSpecification {
    var specification = DownloadSpecification(
      app: try name(row), identifier: try name(row), url: row.text(), headers: try readHeaders(Unpacker(row.blob())),
      transferClass: try transferClass(row.int()), isEssential: row.bool(), priority: row.int(),
      declaredSize: size(row.optionalInt64()), digest: digest(row.optionalBlob()), chunks: try chunks(row),
      directory: try name(row), fileName: try name(row),
      allowedDomains: try row.optionalBlob().map { try readTexts(Unpacker($0)) }, budget: row.optionalText(),
      isManifest: row.bool())
    specification.mirrors = try row.optionalBlob().map { try readTexts(Unpacker($0)) } ?? []
    specification.method = row.optionalText() ?? "GET"
    specification.body = row.optionalBlob() ?? []
    return specification
  }

  /// Sizes are added and subtracted: one that a damaged page made up must not end the process.
  private static func size(_ bytes: Int64?) -> Int64? { bytes.map { max(0, $0) } }

  private static func name(_ row: Query) throws -> String {
    guard let text = String(validating: row.blob(), as: UTF8.self) else { throw Unpacker.Unreadable() }
    return text
  }

  private static func state(_ row: Query) throws -> JobState {
    let state = State(rawValue: row.int64())
    let reason = row.optionalText().flatMap { TransferFailure.Reason(rawValue: $0) }
    let (status, hop) = (row.optionalInt64().map { Int($0) }, row.int())
    let (errno, detail) = (row.optionalInt64().map { Int32(truncatingIfNeeded: $0) }, row.text())
    let (cause, keptBytes) = (try cause(row.optionalText()), size(row.optionalInt64()))
    switch state {
    case .open?: return .open
    case .paused?: return .paused
    case .verified?: return .verified
    case .finished?: return .finished
    case .cancelled?: return .cancelled
    case .failed?:
      guard let reason else { throw Unpacker.Unreadable() }
      return .failed(
        TransferFailure(
          reason, status: status, hop: hop, errno: errno, cause: cause, keptBytes: keptBytes, detail: detail))
    case nil: throw Unpacker.Unreadable()
    }
  }

  static func transferClass(_ number: Int) throws -> TransferClass {
    guard let value = TransferClass(rawValue: number) else { throw Unpacker.Unreadable() }
    return value
  }

  private static func partial(_ row: Query) throws -> Partial? {
    guard let name = row.optionalText() else {
      row.skip(12)
      return nil
    }
    let entity = Entity(
      strongTag: row.optionalText(), weakTag: row.optionalText(), lastModified: row.optionalText(),
      total: size(row.optionalInt64()),
      coding: row.optionalText(), finalURL: row.text(), reprDigest: digest(row.optionalBlob()))
    return Partial(
      stagingName: name, entity: entity, checkpoints: try readCheckpoints(Unpacker(row.blob())),
      verifiedChunks: row.blob(), bootIdentifier: row.text(), device: row.bits(), inode: row.bits())
  }

  private static func chunks(_ row: Query) throws -> ChunkList? {
    guard let size = row.optionalInt64() else {
      row.skip(2)
      return nil
    }
    guard let list = ChunkList(chunkSize: size, totalSize: row.int64(), digests: row.blob()) else {
      throw Unpacker.Unreadable()
    }
    return list
  }

  private static func moment(_ row: Query) -> StoredMoment? {
    guard let boot = row.optionalText() else {
      row.skip(2)
      return nil
    }
    return StoredMoment(bootIdentifier: boot, boot: row.int64(), wall: row.int64())
  }

  private static func wait(_ row: Query) -> StoredWait? {
    let since = moment(row)
    let length = row.optionalInt64()
    guard let since, let length else { return nil }
    return StoredWait(since: since, length: length)
  }

  static func moment(_ row: Row, _ name: String) -> StoredMoment? {
    guard let boot: String = row["\(name)Boot"] else { return nil }
    return StoredMoment(bootIdentifier: boot, boot: row["\(name)At"] ?? 0, wall: row["\(name)Wall"] ?? 0)
  }

  static func wait(_ row: Row, _ name: String) -> StoredWait? {
    guard let since = moment(row, name), let length: Int64 = row["\(name)Length"] else { return nil }
    return StoredWait(since: since, length: length)
  }

  /// `scheme://host:port`, as far as a queue needs it; the engine reads URLs with a parser.
  static func origin(of url: String) -> String {
    let parts = url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3 else { return url }
    let scheme = parts[0].lowercased()
    let host = parts[2].prefix { $0 != "/" && $0 != "?" && $0 != "#" }.lowercased()
    let name = host.split(separator: "@").last.map(String.init) ?? host
    let hasPort = name.split(separator: "]").last?.contains(":") ?? false
    return "\(scheme)//\(name)\(hasPort ? "" : scheme == "http:" ? ":80" : ":443")"
  }

  // MARK: Columns of bytes

  private static func json(_ cause: FailureCause) throws -> String {
    String(decoding: try JSONEncoder().encode(cause), as: UTF8.self)
  }

  /// nil: a row of before, or a failure of which the sentence says all.
  private static func cause(_ text: String?) throws -> FailureCause? {
    guard let text else { return nil }
    do { return try JSONDecoder().decode(FailureCause.self, from: Data(text.utf8)) } catch {
      throw Unpacker.Unreadable()
    }
  }

  private static func digest(_ bytes: [UInt8]?) -> ContentDigest? {
    guard let bytes,
      let algorithm = ContentDigest.Algorithm.allCases.first(where: { $0.byteCount == bytes.count })
    else { return nil }
    return ContentDigest(algorithm, bytes: bytes)
  }

  private static func headers(_ headers: [Download.Header]) -> [UInt8] {
    texts(headers.flatMap { [$0.name, $0.value] })
  }

  private static func readHeaders(_ unpacker: Unpacker) throws -> [Download.Header] {
    let texts = try readTexts(unpacker)
    guard texts.count % 2 == 0 else { throw Unpacker.Unreadable() }
    return stride(from: 0, to: texts.count, by: 2).map { Download.Header(name: texts[$0], value: texts[$0 + 1]) }
  }

  private static func texts(_ texts: [String]) -> [UInt8] {
    var packer = Packer()
    packer.append(Int64(texts.count))
    for text in texts { packer.append(text) }
    return packer.bytes
  }

  private static func readTexts(_ unpacker: Unpacker) throws -> [String] {
    var unpacker = unpacker
    let texts = try (0..<(try unpacker.count())).map { _ in try unpacker.text() }
    try unpacker.end()
    return texts
  }

  private static func checkpoints(_ checkpoints: [Partial.Checkpoint]) -> [UInt8] {
    var packer = Packer()
    packer.append(Int64(checkpoints.count))
    for checkpoint in checkpoints {
      packer.append(checkpoint.offset)
      packer.append(checkpoint.tailDigest)
    }
    return packer.bytes
  }

  private static func readCheckpoints(_ unpacker: Unpacker) throws -> [Partial.Checkpoint] {
    var unpacker = unpacker
    let result = try (0..<(try unpacker.count())).map { _ in
      Partial.Checkpoint(offset: try unpacker.number(), tailDigest: try unpacker.list())
    }
    try unpacker.end()
    return result
  }

  private static func history(_ history: JobHistory) -> [UInt8] {
    var packer = Packer()
    for number in [
      history.fruitlessAttempts, history.validatorRestarts, history.digestMismatches, history.publicationRetests,
      history.serverFaults, history.challenges, history.triedBareRange ? 1 : 0, history.triedNoTransform ? 1 : 0,
    ] { packer.append(Int64(number)) }
    packer.append(history.highWater)
    packer.append(history.honouredRedirect ? 1 : 0)
    packer.append(Int64(bitPattern: history.bannedSources))
    return packer.bytes
  }

  private static func read(_ history: inout JobHistory, _ unpacker: Unpacker) throws {
    var unpacker = unpacker
    history.fruitlessAttempts = Int(try unpacker.number())
    history.validatorRestarts = Int(try unpacker.number())
    history.digestMismatches = Int(try unpacker.number())
    history.publicationRetests = Int(try unpacker.number())
    history.serverFaults = Int(try unpacker.number())
    history.challenges = Int(try unpacker.number())
    history.triedBareRange = try unpacker.number() != 0
    history.triedNoTransform = try unpacker.number() != 0
    history.highWater = try unpacker.number()
    // Rows of before don't have these.
    if !unpacker.isAtEnd { history.honouredRedirect = try unpacker.number() != 0 }
    if !unpacker.isAtEnd { history.bannedSources = UInt64(bitPattern: try unpacker.number()) }
    try unpacker.end()
  }

  static func text(_ text: String) -> Data { Data(text.utf8) }

  private static func blob(_ bytes: [UInt8]) -> Data { Data(bytes) }
}
