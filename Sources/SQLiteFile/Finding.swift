/// Something wrong or noteworthy in a file, with its location.
public struct Finding: Sendable, Hashable, Codable {
  /// How much it matters.
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

    /// An id with this text; unknown ids are kept.
    public init(rawValue: String) { self.rawValue = rawValue }
  }

  /// Which file of the store set.
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
  /// How much it matters.
  public var severity: Severity
  /// What is wrong, in a sentence without a full stop.
  public var message: String
  /// The file that `offset` refers to.
  public var member: Member
  /// Page number, 1-based; nil when it concerns no single page.
  public var page: UInt32?
  /// Bytes from the start of the member; nil when it concerns no single position.
  public var offset: Int64?
  /// The table being read; nil when it concerns none.
  public var table: String?

  /// A finding with all its facts.
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

/// Findings in the order met, bounded: a ruined file can have one for every cell.
public struct FindingList: Sendable, Equatable {
  /// How many findings are kept with their text.
  public static let limit = 10_000

  /// The findings that are kept: the first ``limit`` of all.
  public private(set) var kept: [Finding] = []
  /// How many findings were added, including those not kept.
  public private(set) var count = 0
  /// How many of all findings added are damage.
  public private(set) var damageCount = 0
  private var seen: Set<Finding> = []

  /// An empty list.
  package init() {}

  /// Adds a finding unless an equal one is kept.
  package mutating func add(_ finding: Finding) {
    guard !seen.contains(finding) else { return }
    if kept.count < Self.limit {
      seen.insert(finding)
      kept.append(finding)
    }
    count += 1
    if finding.severity == .damage { damageCount += 1 }
  }

  /// Adds the findings of another list.
  package mutating func add(_ other: FindingList) {
    for finding in other.kept { add(finding) }
    count += other.count - other.kept.count
    damageCount += other.damageCount - other.kept.count { $0.severity == .damage }
  }
}
