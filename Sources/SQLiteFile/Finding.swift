/// Something wrong or noteworthy that was found in a file, with its location.
public struct Finding: Sendable, Hashable, Codable {
  /// How serious a finding is.
  public enum Severity: String, Sendable, Hashable, Codable {
    /// The finding is worth knowing. Nothing is lost.
    case note
    /// Bytes are damaged or missing, or they contradict each other; rows may be lost.
    case damage
  }

  /// The kind of a finding, as a stable identifier. It is the same in messages, in JSON and in the manual.
  public struct ID: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
    /// The identifier as it is printed, for example `page.badType`.
    public let rawValue: String
    /// The identifier as it is printed.
    public var description: String { rawValue }

    /// Creates an identifier from its printed form. Any string is accepted, because other versions have other
    /// identifiers.
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

  /// The kind of the finding, for example ``ID/pageBadType``.
  public var id: ID
  /// How serious the finding is.
  public var severity: Severity
  /// A description of the finding: a sentence without a full stop.
  public var message: String
  /// The file that the finding is about, and that ``offset`` refers to.
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
    // If the start of the file is lost, a page that was in the lost part has a negative offset.
    self.offset = offset.flatMap { $0 < 0 ? nil : $0 }
    self.table = table
  }
}

/// A list of findings, in the order in which they were added. The number of stored findings is limited, because a
/// ruined file may cause a finding for every cell.
public struct FindingList: Sendable, Equatable {
  /// The maximum number of findings that are stored.
  public static let limit = 10_000

  /// The stored findings: the first ``limit`` findings that were added.
  public private(set) var kept: [Finding] = []
  /// The number of findings that were added, including those that are not stored.
  public private(set) var count = 0
  /// The number of findings of severity ``Finding/Severity/damage`` that were added, stored or not.
  public private(set) var damageCount = 0
  /// The table names with which each finding in ``kept`` was added. Swift treats some table names as equal although
  /// their bytes differ, so these names are compared as UTF-8.
  private var seen: [Finding: Set<[UInt8]>] = [:]

  package init() {}

  /// Adds a finding, unless ``kept`` contains an equal finding. If ``kept`` already contains ``limit`` findings, the
  /// new one is counted but not stored.
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

  /// Adds the stored findings of another list. Findings that the other list has counted but not stored are counted
  /// here, too.
  package mutating func add(_ other: FindingList) {
    for finding in other.kept { add(finding) }
    count += other.count - other.kept.count
    damageCount += other.damageCount - other.kept.count { $0.severity == .damage }
  }
}
