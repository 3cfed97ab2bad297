/// Inputs by what happened to them.
package struct TriageGroups: Sendable {
  /// What makes two inputs one group.
  package enum Key: String, Sendable, CaseIterable {
    /// What happened, whatever the build, the models and the version of SQLite.
    case family
    /// The whole signature.
    case signature
  }

  /// The inputs of one family or signature.
  package struct Group: Sendable, Codable, Equatable {
    /// The hash.
    package let id: String
    /// What happened, without build, models and version of SQLite when a family is meant.
    package let signature: TriageSignature
    /// What it is, in words.
    package let words: String
    /// How many inputs.
    package var count = 0
    /// Those that could not be read at all.
    package var failedCount = 0
    package var firstSeen: String?
    package var lastSeen: String?
    /// The paths of the first inputs.
    package var examples: [String] = []
    /// Builds, models that wrote the store, and versions of SQLite, each with how many inputs.
    package var builds: [String: Int] = [:]
    package var models: [String: Int] = [:]
    package var sqlite: [String: Int] = [:]
    /// What helps, with how many inputs.
    package var fixes: [String: Int] = [:]
    /// Inputs by day.
    package var days: [String: Int] = [:]
    /// Rows that SQLite would read, in those inputs of which it is known; nil when it is of none.
    package var liveRows: Int?

    fileprivate init(_ id: String, _ signature: TriageSignature) {
      self.id = id
      self.signature = signature
      words = signature.words
    }
  }

  /// The JSON form.
  package struct Report: Sendable, Codable, Equatable {
    package var schema = "lifeboat.triageGroups"
    package var version = 1
    /// `family` or `signature`.
    package let by: String
    package let inputCount: Int
    package let careCount: Int
    package let failedCount: Int
    /// Inputs of groups for which there was no room, because there are more than ``groupLimit``.
    package let otherCount: Int
    package let groups: [Group]
  }

  /// The most groups, the most names of a kind in one, and the most examples.
  static let groupLimit = 100_000
  static let nameLimit = 1000
  static let exampleLimit = 3

  private let key: Key
  private var groups: [String: Group] = [:]
  private var inputCount = 0
  private var careCount = 0
  private var failedCount = 0
  private var otherCount = 0

  /// No inputs.
  package init(by key: Key) { self.key = key }

  /// The day of a date of a line.
  package static func day(_ date: String) -> String { String(Substring(date.utf8.prefix(10))) }

  /// Adds an input.
  package mutating func add(_ line: TriageLine) {
    inputCount += 1
    if line.needsCare { careCount += 1 }
    if line.failed != nil { failedCount += 1 }
    let id = key == .family ? line.signature.family : line.signature.id
    guard groups[id] != nil || groups.count < Self.groupLimit else {
      otherCount += 1
      return
    }
    let empty = groups[id] == nil ? Group(id, shown(line.signature)) : nil
    if let empty { groups[id] = empty }
    groups[id]?.add(line)
  }

  /// A family has no build, models and version of SQLite.
  private func shown(_ signature: TriageSignature) -> TriageSignature {
    guard key == .family else { return signature }
    var shown = signature
    shown.id = ""
    shown.model = nil
    shown.build = nil
    shown.sqlite = nil
    return shown
  }

  /// The groups by their number of inputs.
  package var report: Report {
    Report(
      by: key.rawValue, inputCount: inputCount, careCount: careCount, failedCount: failedCount,
      otherCount: otherCount,
      groups: groups.values.sorted { $0.count != $1.count ? $0.count > $1.count : $0.id < $1.id })
  }
}

extension TriageGroups.Group {
  /// The days between which it was seen, in words; nil when no input has a date.
  package var seen: String? {
    guard let first = firstSeen.map(TriageGroups.day), let last = lastSeen.map(TriageGroups.day)
    else { return nil }
    return first == last ? first : "\(first) to \(last)"
  }

  fileprivate mutating func add(_ line: TriageLine) {
    count += 1
    if line.failed != nil { failedCount += 1 }
    if let date = line.date {
      firstSeen = min(firstSeen ?? date, date)
      lastSeen = max(lastSeen ?? date, date)
      Self.count(TriageGroups.day(date), in: &days)
    }
    if examples.count < TriageGroups.exampleLimit { examples.append(line.path) }
    Self.count(line.signature.build, in: &builds)
    Self.count(line.signature.model?.writtenBy, in: &models)
    Self.count(line.signature.sqlite, in: &sqlite)
    Self.count(line.fix?.rawValue, in: &fixes)
    if let live = line.rows.live {
      liveRows = (liveRows ?? 0).addingReportingOverflow(live).partialValue
    }
  }

  private static func count(_ name: String?, in counts: inout [String: Int]) {
    guard let name, counts[name] != nil || counts.count < TriageGroups.nameLimit else { return }
    counts[name, default: 0] += 1
  }
}
