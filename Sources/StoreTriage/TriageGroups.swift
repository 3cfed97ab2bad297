import StoreFiles

/// Counts triage inputs in groups, either by signature or by family. Inputs of one family have signatures that differ
/// at most in the app's build, the models and the version of SQLite.
package struct TriageGroups: Sendable {
  /// The part of the signature that is the same for all inputs of a group.
  package enum Key: String, Sendable, CaseIterable {
    /// Inputs with the same ``TriageSignature/family`` form a group. The build, the models and the version of SQLite
    /// may differ.
    case family
    /// Groups have the same ``TriageSignature/id``: the hash of the whole signature, including the build, the models
    /// and the version of SQLite.
    case signature
  }

  /// The inputs with one signature or one family, and how many of them have each build, model, remedy and day.
  package struct Group: Sendable, Codable, Equatable {
    /// The hash of the family or of the signature, as 16 hexadecimal digits.
    package let id: String
    /// The signature that all inputs of the group share. If the inputs are grouped by family, the signature lacks the
    /// build, the models and the version of SQLite, in which the inputs may differ.
    package let signature: TriageSignature
    /// What happened, in words.
    package let words: String
    package var count = 0
    /// The number of inputs in the group that could not be read at all.
    package var failedCount = 0
    package var firstSeen: String?
    package var lastSeen: String?
    package var undatedCount = 0
    /// The paths of the first inputs that were added to the group, at most three.
    package var examples: [String] = []
    /// The number of inputs in the group, keyed by the build of the app.
    package var builds: [String: Int] = [:]
    package var models: [String: Int] = [:]
    package var sqlite: [String: Int] = [:]
    /// The number of inputs in the group, keyed by the remedy (``Fix``) for the input.
    package var fixes: [String: Int] = [:]
    /// The number of inputs in the group, keyed by the day of the input, for example `2026-11-20`.
    package var days: [String: Int] = [:]
    /// The total number of live rows in the inputs of the group, clamped to `Int.max`. Inputs whose number of live rows
    /// is unknown are left out. Nil when the number is unknown for all inputs.
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
    /// The raw value of the ``TriageGroups/Key`` by which inputs are grouped: `family` or `signature`.
    package let by: String
    package let inputCount: Int
    package let careCount: Int
    package let failedCount: Int
    /// The number of inputs that are in none of ``groups``, because the report already had ``groupLimit`` groups.
    package let otherCount: Int
    package let groups: [Group]
  }

  static let groupLimit = 100_000
  /// The maximum number of keys in each dictionary of a group, for example in ``Group/builds``. Inputs with further
  /// keys are not counted in that dictionary.
  static let nameLimit = 1000
  static let exampleLimit = 3

  private let key: Key
  private var groups: [String: Group] = [:]
  private var inputCount = 0
  private var careCount = 0
  private var failedCount = 0
  private var otherCount = 0

  package init(by key: Key) { self.key = key }

  /// Returns the day of an ISO 8601 date, for example `2026-11-20` for `2026-11-20T21:53:07Z`.
  package static func day(_ date: String) -> String { String(Substring(date.utf8.prefix(10))) }

  package mutating func add(_ line: TriageLine) {
    inputCount += 1
    if line.needsCare { careCount += 1 }
    if line.failed != nil { failedCount += 1 }
    let id = key == .family ? line.signature.family : line.signature.id
    guard groups[id] != nil || groups.count < Self.groupLimit else {
      otherCount += 1
      return
    }
    if groups[id] == nil { groups[id] = Group(id, shown(line.signature)) }
    groups[id]?.add(line)
  }

  /// Returns the signature that the report shows for a group. If inputs are grouped by family, the build, the models
  /// and the version of SQLite are removed.
  private func shown(_ signature: TriageSignature) -> TriageSignature {
    guard key == .family else { return signature }
    var shown = signature
    shown.id = ""
    shown.model = nil
    shown.build = nil
    shown.sqlite = nil
    return shown
  }

  /// The groups and the counts of all inputs. The group with the highest number of inputs comes first.
  package var report: Report {
    Report(
      by: key.rawValue, inputCount: inputCount, careCount: careCount, failedCount: failedCount,
      otherCount: otherCount,
      groups: groups.values.sorted { $0.count != $1.count ? $0.count > $1.count : $0.id < $1.id })
  }
}

extension TriageGroups.Group {
  /// The days of the group's first and last input, for example `2026-11-20 to 2026-11-24`; nil when no input has a
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
      // A bundle may record any number, so the sum may overflow.
      liveRows = (liveRows ?? 0).addingClamped(live)
    }
  }

  private static func count(_ name: String?, in counts: inout [String: Int]) {
    guard let name, counts[name] != nil || counts.count < TriageGroups.nameLimit else { return }
    counts[name, default: 0] += 1
  }
}
