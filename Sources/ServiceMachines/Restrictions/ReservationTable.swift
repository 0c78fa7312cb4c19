/// What downloads have reserved, by unique identifier.
///
/// Kept as a list: identifier, reservation, identifier, reservation. An app may have 100,000, and a keyed container for each
/// takes many times as long to read.
struct ReservationTable: Sendable, Equatable, Codable {
  var rows: [String: Restrictions.Reservation] = [:]

  init() {}

  mutating func shareNames(_ shared: (String) -> String) {
    rows = Dictionary(rows.map { (shared($0.key), $0.value) }) { $1 }
  }

  init(from decoder: any Decoder) throws {
    guard var list = try? decoder.unkeyedContainer() else {
      // As it was kept before.
      rows = try decoder.singleValueContainer().decode([String: Restrictions.Reservation].self)
      return
    }
    while !list.isAtEnd {
      let unique = try list.decode(String.self)
      let fields = try list.decode(String.self).split(separator: " ")
      // What was charged isn't there where it was written by an earlier version.
      guard (3...4).contains(fields.count), let budget = Restrictions.Budget(rawValue: String(fields[0])),
        let bytes = Int64(fields[2]), let charged = fields.count == 3 ? 0 : Int64(fields[3])
      else { throw DecodingError.dataCorruptedError(in: list, debugDescription: "it isn't a reservation") }
      rows[unique] = .init(budget: budget, isManifest: fields[1] == "manifest", bytes: bytes, charged: charged)
    }
  }

  func encode(to encoder: any Encoder) throws {
    var list = encoder.unkeyedContainer()
    for (unique, row) in rows.sorted(by: { $0.key < $1.key }) {
      try list.encode(unique)
      try list.encode("\(row.budget.rawValue) \(row.isManifest ? "manifest" : "asset") \(row.bytes) \(row.charged)")
    }
  }
}
