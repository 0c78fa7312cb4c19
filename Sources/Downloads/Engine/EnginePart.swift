internal import AssetModel
internal import LinuxSystem

/// A part of the engine, which does one thing for it. Network thread only.
protocol EnginePart: AnyObject {
  var engine: TransferEngine { get }
}

/// What every part may use. Which others of them it uses besides, each part declares itself.
extension EnginePart {
  var clock: any TransferClock { engine.services.clock }
  var files: any FileOperations { engine.services.files }
  var journal: JournalWriter { engine.services.journal }
  var publisher: Publisher { engine.services.publisher }
  var transport: any Transport { engine.services.transport }
  var mailbox: Mailbox { engine.services.mailbox }
  var events: EventHub { engine.services.events }
  var lanes: JobFile.Lanes { engine.services.lanes }
  var pool: BufferPool { engine.services.pool }
}

/// What the engine was given to work with. A class, because every part asks for one of them at each step, and all of a
/// structure would be copied for it.
final class EngineServices {
  let clock: any TransferClock
  let files: any FileOperations
  let journal: JournalWriter
  let publisher: Publisher
  let transport: any Transport
  let mailbox: Mailbox
  let events: EventHub
  let lanes = JobFile.Lanes()
  let pool = BufferPool()

  init(
    clock: any TransferClock, files: any FileOperations, journal: JournalWriter, publisher: Publisher,
    transport: any Transport, mailbox: Mailbox, events: EventHub
  ) {
    self.clock = clock
    self.files = files
    self.journal = journal
    self.publisher = publisher
    self.transport = transport
    self.mailbox = mailbox
    self.events = events
  }
}

final class EngineParts {
  let bodies: BodyReceiver
  let connections: Connections
  let chunked: ChunkedTransfers
  let opening: JobOpening
  let endings: JobEndings
  let publishing: JobPublishing
  let room: RoomKeeper
  let commands: CommandExecutor
  let records: JobRecords
  let additions: Additions
  let network: NetworkWatch
  let explainer: Explainer

  init(_ engine: TransferEngine) {
    bodies = BodyReceiver(engine)
    connections = Connections(engine)
    chunked = ChunkedTransfers(engine)
    opening = JobOpening(engine)
    endings = JobEndings(engine)
    publishing = JobPublishing(engine)
    room = RoomKeeper(engine)
    commands = CommandExecutor(engine)
    records = JobRecords(engine)
    additions = Additions(engine)
    network = NetworkWatch(engine)
    explainer = Explainer(engine)
  }
}
