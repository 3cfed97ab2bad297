import SQLiteFile

/// A b-tree to walk, and the rules for its records.
struct TreeJob {
  /// The schema entry that the b-tree belongs to, or the schema table itself.
  enum Subject: Hashable {
    case schema
    case table(SQLName)
    /// An index, by its position in the schema's entries.
    case index(Int)
  }

  let subject: Subject
  let owner: PageOwner
  /// Whether the keys of the b-tree are row ids; nil if this is not known before the root page is read.
  let isTable: Bool?
  let rules: RecordRules

  init(subject: Subject, owner: PageOwner, isTable: Bool?, rules: RecordRules) {
    self.subject = subject
    self.owner = owner
    self.isTable = isTable
    var rules = rules
    rules.settle()
    self.rules = rules
  }

  /// Returns this job's b-tree and its rules in the form that ``BTreeCheck`` needs. `number`: the number that stands
  /// for the b-tree in the page map.
  func tree(_ number: Int) -> BTreeCheck.Tree {
    BTreeCheck.Tree(
      name: owner.name, number: UInt32(truncatingIfNeeded: number), root: owner.rootPage,
      isTable: isTable, hasRows: !owner.isIndex, rules: rules)
  }
}

/// The result of the check of a b-tree, or of a part of a b-tree.
struct TreeResult {
  var counts = BTreeCheck.Counts()
  var findings = FindingList()
  /// As in ``BTreeCheck/possibleLosses``.
  var possibleLosses = FindingList()
  var tallies: [RecordCheck.Subject: RecordCheck.Tally] = [:]

  /// Adds the result of the next part of the same b-tree. Returns false if the leaves of the two parts are at different
  /// depths. Then the b-tree must be walked again as a whole, because only such a walk can report the uneven depth.
  mutating func add(_ next: TreeResult) -> Bool {
    findings.add(next.findings)
    possibleLosses.add(next.possibleLosses)
    tallies.merge(next.tallies) { before, after in
      RecordCheck.Tally(count: before.count + after.count, first: before.first)
    }
    return counts.add(next.counts)
  }
}

struct Gathered {
  var findings = FindingList()
  var breaches: [DemandBreach] = []
  var rowCounts: [SQLName: BTreeCheck.Counts] = [:]
  /// The counts of each index's b-tree, by the position of the index in the schema's entries.
  var indexCounts: [Int: BTreeCheck.Counts] = [:]
  /// For each table, the findings about disk sectors that may be lost. Tables without such findings are left out.
  var possibleLosses: [(table: SQLName, findings: FindingList)] = []

  mutating func take(_ result: TreeResult, of job: TreeJob, _ report: inout CheckReport) {
    let counts = result.counts
    let found = RecordCheck.findings(result.tallies, job.owner.name, job.rules.names)
    findings.add(result.findings)
    for finding in found.findings { findings.add(finding) }
    breaches += found.breaches
    report.add(counts)
    switch job.subject {
    case .schema: break
    case .table(let name):
      if result.possibleLosses.count > 0 { possibleLosses.append((name, result.possibleLosses)) }
      rowCounts[name] = counts
      report.rowCount += counts.entries
      if !counts.isWhole { report.partlyCountedTables.append(job.owner.name) }
    case .index(let place):
      indexCounts[place] = counts
      report.indexEntryCount += counts.entries
    }
  }
}

extension BTreeCheck {
  /// Checks the whole b-tree of a job. `number` is the number of the b-tree in the page map.
  mutating func run(_ job: TreeJob, number: Int, _ reader: inout PageReader) throws(SQLiteFileError)
    -> TreeResult
  {
    let counts = try run(job.tree(number), &reader)
    return take(counts)
  }

  /// Checks `part`, a part of the b-tree of `job`. `number` is the number of the b-tree in the page map.
  mutating func run(
    _ part: borrowing Part, of job: TreeJob, number: Int, _ reader: inout PageReader
  ) throws(SQLiteFileError) -> TreeResult {
    var counts = Counts()
    try run(part, job.tree(number), &counts, &reader)
    return take(counts)
  }

  /// Checks the root page of a b-tree, and divides the pages below it into parts for several threads. `number`: the
  /// number of the b-tree in the page map.
  mutating func split(
    _ job: TreeJob, number: Int, minPages: Int, maxParts: Int, _ reader: inout PageReader
  ) throws(SQLiteFileError) -> (root: TreeResult, parts: [Part]) {
    var counts = Counts()
    let parts = try split(
      job.tree(number), minPages: minPages, maxParts: maxParts, &counts, &reader)
    return (take(counts), parts)
  }

  private mutating func take(_ counts: Counts) -> TreeResult {
    defer {
      findings = FindingList()
      possibleLosses = FindingList()
    }
    return TreeResult(
      counts: counts, findings: findings, possibleLosses: possibleLosses,
      tallies: records.takeTallies())
  }
}
