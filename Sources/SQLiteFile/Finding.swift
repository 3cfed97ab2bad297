/// Something wrong or noteworthy in a file, with its location.
public struct Finding: Sendable, Hashable, Codable {
  /// How serious a finding is.
  public enum Severity: String, Sendable, Hashable, Codable {
    /// Worth knowing; nothing is lost.
    case note
    /// Bytes are damaged, missing or contradict each other; rows may be lost.
    case damage
  }

  /// What was found: a stable identifier, the same in messages, JSON and the manual.
  public struct ID: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
    /// The identifier as it is printed, such as `page.badType`.
    public let rawValue: String
    /// The identifier as it is printed.
    public var description: String { rawValue }

    /// Creates an identifier from its printed form. Any text is accepted, for the identifiers of other versions.
    public init(rawValue: String) { self.rawValue = rawValue }
  }

  /// The file that a finding is about.
  public enum Member: String, Sendable, Hashable, Codable {
    /// The database file itself.
    case main
    /// The write-ahead log, `-wal`.
    case wal
    /// The rollback journal, `-journal`.
    case journal
  }

  /// What was found, such as ``ID/pageBadType``.
  public var id: ID
  /// How serious the finding is.
  public var severity: Severity
  /// What is wrong, in a sentence without a full stop.
  public var message: String
  /// The file that `offset` refers to.
  public var member: Member
  /// The page number, counted from 1; nil when the finding concerns no single page.
  public var page: UInt32?
  /// The offset in ``member``, in bytes; nil when the finding concerns no single position.
  public var offset: Int64?
  /// The name of the table that was being read; nil when the finding concerns no table.
  public var table: String?

  /// Creates a finding. A negative `offset` becomes nil.
  package init(
    _ id: ID, _ message: String, severity: Severity = .damage, member: Member = .main,
    page: UInt32? = nil, offset: Int64? = nil, table: String? = nil
  ) {
    self.id = id
    self.severity = severity
    self.message = message
    self.member = member
    self.page = page
    // A page before the first remaining byte has no offset in the file.
    self.offset = offset.flatMap { $0 < 0 ? nil : $0 }
    self.table = table
  }
}

/// Findings in the order in which they were met; limited, because a ruined file can have one for every cell.
public struct FindingList: Sendable, Equatable {
  /// How many findings are kept with their text.
  public static let limit = 10_000

  /// The findings that are kept: the first ``limit`` of all.
  public private(set) var kept: [Finding] = []
  /// How many findings were added to the list, including those that are not kept.
  public private(set) var count = 0
  /// How many of the findings that were added are damage.
  public private(set) var damageCount = 0
  /// The findings in ``kept``, each with the bytes of its tables' names, some of which Swift treats as equal.
  private var seen: [Finding: Set<[UInt8]>] = [:]

  /// An empty list.
  package init() {}

  /// Adds a finding, unless ``kept`` has an equal one. After ``limit`` findings, only counts it.
  package mutating func add(_ finding: Finding) {
    let table = Array((finding.table ?? "").utf8)
    guard seen[finding]?.contains(table) != true else { return }
    if kept.count < Self.limit {
      seen[finding, default: []].insert(table)
      kept.append(finding)
    }
    count += 1
    if finding.severity == .damage { damageCount += 1 }
  }

  /// Adds the findings of another list, and counts those that the other list did not keep.
  package mutating func add(_ other: FindingList) {
    for finding in other.kept { add(finding) }
    count += other.count - other.kept.count
    damageCount += other.damageCount - other.kept.count { $0.severity == .damage }
  }
}
