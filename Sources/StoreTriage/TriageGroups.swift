/// Counts inputs in groups: inputs that are the same case are one group.
package struct TriageGroups: Sendable {
  /// What two inputs of one group have in common.
  package enum Key: String, Sendable, CaseIterable {
    /// The family: what happened, whatever the build, the models and the version of SQLite.
    case family
    /// The whole signature, with the build, the models and the version of SQLite.
    case signature
  }

  /// A group: the inputs that share a family or a signature, with counts.
  package struct Group: Sendable, Codable, Equatable {
    /// The hash of the family or of the signature, 16 hexadecimal digits.
    package let id: String
    /// The signature of the group. If groups are families, it has no build, no models and no version of SQLite.
    package let signature: TriageSignature
    /// What happened, in words.
    package let words: String
    /// The number of inputs in the group.
    package var count = 0
    /// The number of inputs in the group that could not be read at all.
    package var failedCount = 0
    package var firstSeen: String?
    package var lastSeen: String?
    /// The number of inputs in the group whose date is not known.
    package var undatedCount = 0
    /// The paths of the first three inputs of the group.
    package var examples: [String] = []
    /// The builds of the app, with the number of inputs of each.
    package var builds: [String: Int] = [:]
    package var models: [String: Int] = [:]
    package var sqlite: [String: Int] = [:]
    /// What helps (``Fix``), with the number of inputs that it helps with.
    package var fixes: [String: Int] = [:]
    /// The days of the inputs, as `2026-11-20`, with the number of inputs of each.
    package var days: [String: Int] = [:]
    /// The sum of the rows that SQLite would read, of the inputs for which this number is known; nil when it is known
    /// for none.
    package var liveRows: Int?

    fileprivate init(_ id: String, _ signature: TriageSignature) {
      self.id = id
      self.signature = signature
      words = signature.words
    }
  }

  /// The JSON output of `lifeboat triage --group`.
  package struct Report: Sendable, Codable, Equatable {
    package var schema = "lifeboat.triageGroups"
    package var version = 1
    /// What makes a group: `family` or `signature`.
    package let by: String
    package let inputCount: Int
    package let careCount: Int
    package let failedCount: Int
    /// The number of inputs in groups for which there was no room, because there are more groups than ``groupLimit``.
    package let otherCount: Int
    package let groups: [Group]
  }

  /// The maximum number of groups.
  static let groupLimit = 100_000
  /// The maximum number of names of each kind in a group, such as builds. Names beyond it are not counted.
  static let nameLimit = 1000
  /// The maximum number of examples in a group.
  static let exampleLimit = 3

  private let key: Key
  private var groups: [String: Group] = [:]
  private var inputCount = 0
  private var careCount = 0
  private var failedCount = 0
  private var otherCount = 0

  /// Groups without inputs yet. `key` says what makes a group.
  package init(by key: Key) { self.key = key }

  /// The day of a line's date: `2026-11-20` of `2026-11-20T21:53:07Z`.
  package static func day(_ date: String) -> String { String(Substring(date.utf8.prefix(10))) }

  /// Counts the input of a line in its group.
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

  /// The signature that a group shows. The signature of a family has no build, no models and no version of SQLite.
  private func shown(_ signature: TriageSignature) -> TriageSignature {
    guard key == .family else { return signature }
    var shown = signature
    shown.id = ""
    shown.model = nil
    shown.build = nil
    shown.sqlite = nil
    return shown
  }

  /// The groups and the counts of all inputs. The group with the most inputs is first.
  package var report: Report {
    Report(
      by: key.rawValue, inputCount: inputCount, careCount: careCount, failedCount: failedCount,
      otherCount: otherCount,
      groups: groups.values.sorted { $0.count != $1.count ? $0.count > $1.count : $0.id < $1.id })
  }
}

extension TriageGroups.Group {
  /// The days of the first and the last input of the group, such as `2026-11-20 to 2026-11-24`; nil when no input has a
  /// date.
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
    } else {
      undatedCount += 1
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
