import SQLiteFile

/// A b-tree to be walked, and what its records must be.
struct TreeJob {
  /// What kind of entry of the schema calls for the walk.
  enum Subject {
    case schema
    /// A table, by its name.
    case table(SQLName)
    /// An index, by its place in the schema's entries.
    case index(Int)
  }

  let subject: Subject
  let owner: StructureCheck.Owner
  /// Whether it is keyed by row id; nil when only its root can tell.
  let isTable: Bool?
  let rules: RecordRules

  init(subject: Subject, owner: StructureCheck.Owner, isTable: Bool?, rules: RecordRules) {
    self.subject = subject
    self.owner = owner
    self.isTable = isTable
    var rules = rules
    rules.settle()
    self.rules = rules
  }

  /// What a walk is to be told; `number` is the b-tree's number in the page map.
  func tree(_ number: Int) -> BTreeCheck.Tree {
    BTreeCheck.Tree(
      name: owner.name, number: UInt32(truncatingIfNeeded: number), root: owner.root,
      isTable: isTable, rules: rules)
  }
}

/// What came of a walk.
struct TreeResult {
  var counts = BTreeCheck.Counts()
  var findings = FindingList()
  var breaches: [DemandBreach] = []
}

/// What came of the walk of a part of a b-tree.
struct PartResult {
  var counts = BTreeCheck.Counts()
  var findings = FindingList()
  var tallies: [RecordCheck.Subject: RecordCheck.Tally] = [:]

  /// Adds what came of the part behind this one; false when only a walk of the whole can say what is wrong.
  mutating func add(_ next: PartResult) -> Bool {
    findings.add(next.findings)
    tallies.merge(next.tallies) { before, after in
      RecordCheck.Tally(count: before.count + after.count, first: before.first)
    }
    return counts.add(next.counts)
  }

  /// The result, when this is all of the b-tree.
  func result(_ job: TreeJob) -> TreeResult {
    var result = TreeResult(counts: counts, findings: findings)
    let found = RecordCheck.findings(tallies, job.owner.name, job.rules.names)
    for finding in found.findings { result.findings.add(finding) }
    result.breaches = found.breaches
    return result
  }
}

/// What came of all walks together.
struct Gathered {
  var findings = FindingList()
  var breaches: [DemandBreach] = []
  /// By the name of the table.
  var rowCounts: [SQLName: BTreeCheck.Counts] = [:]
  /// By the place in the schema's entries.
  var indexCounts: [Int: BTreeCheck.Counts] = [:]
  var checkedPages = 0
  var overflowPages = 0
  var cells = 0
  var rows = 0
  var indexEntries = 0

  mutating func take(_ result: TreeResult, of job: TreeJob) {
    let counts = result.counts
    findings.add(result.findings)
    breaches += result.breaches
    checkedPages += counts.pages + counts.overflowPages
    overflowPages += counts.overflowPages
    cells += counts.cells
    switch job.subject {
    case .schema: break
    case .table(let name):
      rowCounts[name] = counts
      rows += counts.entries
    case .index(let place):
      indexCounts[place] = counts
      indexEntries += counts.entries
    }
  }
}

extension BTreeCheck {
  /// Walks the b-tree of a job; `number` is its number in the page map.
  mutating func run(_ job: TreeJob, number: Int, _ reader: inout PageReader) throws(SQLiteFileError)
    -> TreeResult
  {
    let counts = try run(job.tree(number), &reader)
    return take(counts).result(job)
  }

  /// Walks a part of the b-tree of a job.
  mutating func run(
    _ part: borrowing Part, of job: TreeJob, number: Int, _ reader: inout PageReader
  ) throws(SQLiteFileError) -> PartResult {
    var counts = Counts()
    try run(part, job.tree(number), &counts, &reader)
    return take(counts)
  }

  /// Checks the root of a job's b-tree and takes what is below it apart.
  mutating func split(
    _ job: TreeJob, number: Int, least: Int, most: Int, _ reader: inout PageReader
  ) throws(SQLiteFileError) -> (root: PartResult, parts: [Part]) {
    var counts = Counts()
    let parts = try split(job.tree(number), least: least, most: most, &counts, &reader)
    return (take(counts), parts)
  }

  private mutating func take(_ counts: Counts) -> PartResult {
    defer { findings = FindingList() }
    return PartResult(counts: counts, findings: findings, tallies: records.takeTallies())
  }
}
