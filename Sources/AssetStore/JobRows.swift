internal import AssetModel
internal import Foundation
internal import GRDB

/// Jobs as rows, and back.
enum JobRow {
  enum State: Int64 { case open, paused, verified, finished, failed, cancelled }

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
      enqueuedBoot, enqueuedAt, enqueuedWall, progressBoot, progressAt, progressWall, isManifest, reserved, volume)
    VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,0,?,0,?,?,?,?,?,?,?,?,?,?)
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
    ]
  }

  static let change = """
    UPDATE jobs SET class=?, generation=?, state=?, failureReason=?, failureStatus=?, failureHop=?, failureErrno=?, failureDetail=?,
      stagingName=?, strongTag=?, lastModified=?, total=?, coding=?, finalURL=?, reprDigest=?, checkpoints=?, verifiedChunks=?,
      partialBoot=?, device=?, inode=?, rest=?, history=?, received=?, lastError=?, waitBoot=?, waitAt=?, waitWall=?, waitLength=?,
      progressBoot=?, progressAt=?, progressWall=?, publishedInode=?, finalSize=?
    WHERE id=? AND generation<=? AND state<3
    """

  static func changeArguments(_ job: JobRecord) -> StatementArguments {
    var failure: TransferFailure?
    if case .failed(let reason) = job.state { failure = reason }
    let partial = job.partial
    let entity = partial?.entity
    let wait = job.wait
    var arguments: StatementArguments = [
      job.transferClass.rawValue, job.generation, state(job.state).rawValue, failure?.reason.rawValue, failure?.status,
      failure?.hop,
      failure?.errno, failure?.detail, partial?.stagingName, entity?.strongTag, entity?.lastModified, entity?.total,
      entity?.coding,
      entity?.finalURL, (entity?.reprDigest).map { blob($0.bytes) }, partial.map { blob(checkpoints($0.checkpoints)) },
      partial.map { blob($0.verifiedChunks) }, partial?.bootIdentifier, partial.map { Int64(bitPattern: $0.device) },
      partial.map { Int64(bitPattern: $0.inode) }, rest(job), blob(history(job.history)), job.receivedBytes,
      job.lastError,
    ]
    arguments += [wait?.since.bootIdentifier, wait?.since.boot, wait?.since.wall, wait?.length]
    arguments += [job.lastProgress.bootIdentifier, job.lastProgress.boot, job.lastProgress.wall]
    arguments += [job.publishedInode.map { Int64(bitPattern: $0) }, job.finalSize, job.id.number, job.generation]
    return arguments
  }

  /// Bytes still to come, for the queue after a restart.
  private static func rest(_ job: JobRecord) -> Int64? {
    let total = job.specification.exactSize ?? job.partial?.entity.total ?? job.specification.declaredSize
    return total.map { max(0, $0 - durable(job)) }
  }

  private static func durable(_ job: JobRecord) -> Int64 {
    guard let partial = job.partial else { return 0 }
    guard let chunks = job.specification.chunks else { return partial.durableOffset }
    var bytes: Int64 = 0
    for chunk in 0..<chunks.count where chunk / 8 < partial.verifiedChunks.count {
      guard partial.verifiedChunks[chunk / 8] & 1 << (chunk % 8) != 0 else { continue }
      bytes += Int64(chunks.range(of: chunk).count)
    }
    return bytes
  }

  static func record(_ row: Row) throws -> JobRecord {
    var history = JobHistory()
    try Self.read(&history, Unpacker(bytes(row["history"])))
    var domains: [String]?
    if let packed: Data = row["allowedDomains"] { domains = try readTexts(Unpacker(bytes(packed))) }
    let specification = DownloadSpecification(
      app: try text(row["app"]), identifier: try text(row["identifier"]), url: row["url"],
      headers: try readHeaders(Unpacker(bytes(row["headers"]))),
      transferClass: try transferClass(row["requestedClass"]), isEssential: row["isEssential"],
      priority: row["priority"],
      declaredSize: size(row["declaredSize"]), digest: digest(row["digest"]), chunks: try chunks(row),
      directory: try text(row["directory"]),
      fileName: try text(row["fileName"]), allowedDomains: domains, budget: row["budget"],
      isManifest: row["isManifest"])
    return JobRecord(
      id: JobID(row["id"]), specification: specification, transferClass: try transferClass(row["class"]),
      generation: row["generation"],
      state: try state(row), partial: try partial(row), history: history, receivedBytes: row["received"],
      reservedBytes: row["reserved"],
      enqueued: moment(row, "enqueued") ?? StoredMoment(bootIdentifier: "", boot: 0, wall: 0), wait: wait(row, "wait"),
      lastProgress: moment(row, "progress"), lastError: row["lastError"],
      publishedInode: (row["publishedInode"] as Int64?).map { UInt64(bitPattern: $0) }, finalSize: row["finalSize"])
  }

  /// Sizes are added and subtracted: one that a damaged page made up must not end the process.
  private static func size(_ bytes: Int64?) -> Int64? { bytes.map { max(0, $0) } }

  static func state(_ row: Row) throws -> JobState {
    switch State(rawValue: row["state"]) {
    case .open?: return .open
    case .paused?: return .paused
    case .verified?: return .verified
    case .finished?: return .finished
    case .cancelled?: return .cancelled
    case .failed?:
      guard let reason = TransferFailure.Reason(rawValue: row["failureReason"] ?? "") else {
        throw Unpacker.Unreadable()
      }
      return .failed(
        TransferFailure(
          reason, status: row["failureStatus"], hop: row["failureHop"] ?? 0, errno: row["failureErrno"],
          detail: row["failureDetail"] ?? ""))
    case nil: throw Unpacker.Unreadable()
    }
  }

  static func transferClass(_ number: Int) throws -> TransferClass {
    guard let value = TransferClass(rawValue: number) else { throw Unpacker.Unreadable() }
    return value
  }

  private static func partial(_ row: Row) throws -> Partial? {
    guard let name: String = row["stagingName"] else { return nil }
    let entity = Entity(
      strongTag: row["strongTag"], lastModified: row["lastModified"], total: size(row["total"]), coding: row["coding"],
      finalURL: row["finalURL"] ?? "", reprDigest: digest(row["reprDigest"]))
    return Partial(
      stagingName: name, entity: entity, checkpoints: try readCheckpoints(Unpacker(bytes(row["checkpoints"]))),
      verifiedChunks: bytes(row["verifiedChunks"]), bootIdentifier: row["partialBoot"] ?? "",
      device: UInt64(bitPattern: row["device"] ?? 0), inode: UInt64(bitPattern: row["inode"] ?? 0))
  }

  private static func chunks(_ row: Row) throws -> ChunkList? {
    guard let size: Int64 = row["chunkSize"] else { return nil }
    guard let list = ChunkList(chunkSize: size, totalSize: row["chunkTotal"] ?? 0, digests: bytes(row["chunks"])) else {
      throw Unpacker.Unreadable()
    }
    return list
  }

  static func moment(_ row: Row, _ name: String) -> StoredMoment? {
    guard let boot: String = row["\(name)Boot"] else { return nil }
    return StoredMoment(bootIdentifier: boot, boot: row["\(name)At"] ?? 0, wall: row["\(name)Wall"] ?? 0)
  }

  static func wait(_ row: Row, _ name: String) -> StoredWait? {
    guard let since = moment(row, name), let length: Int64 = row["\(name)Length"] else { return nil }
    return StoredWait(since: since, length: length)
  }

  /// `scheme://host:port`, as far as a queue needs it; the engine judges URLs by their own parser.
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

  private static func digest(_ data: Data?) -> ContentDigest? {
    guard let bytes = data.map(bytes),
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
    try unpacker.end()
  }

  static func text(_ text: String) -> Data { Data(text.utf8) }

  static func text(_ data: Data) throws -> String {
    guard let text = String(validating: data, as: UTF8.self) else { throw Unpacker.Unreadable() }
    return text
  }

  private static func blob(_ bytes: [UInt8]) -> Data { Data(bytes) }
  private static func bytes(_ data: Data?) -> [UInt8] { data.map { Array($0) } ?? [] }
}
